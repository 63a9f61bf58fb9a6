"""Checks which engines read PDFs, images and recordings here: one that is missing costs those files, nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from kb.config import Config
from kb.domain.checks import Check
from kb.errors import KbError, ModelMissing
from kb.extract.registry import EXTRACTORS
from kb.operations.ingest.requests import extraction_plan


def check_engines(config: Config) -> Iterator[Check]:
    """One check a result that engines derive: which engine does it; what to install where there is none."""
    settings = extraction_plan(config).settings
    steps = {step.name: step for extractor in EXTRACTORS.values() for step in extractor.steps}
    for name, step in steps.items():
        label = f"engine_{name.replace('-', '_')}"
        try:
            engine = step.load().engine(settings)
        except ModelMissing as error:
            yield Check(label, False, error.message, error.hint, needed=False)
        except KbError as error:
            yield Check(label, False, error.message, error.hint)
        else:
            found = f"{engine.name} {engine.version} ({engine.settings})" if engine else "switched off"
            yield Check(label, engine is not None, found, needed=False)
