"""Checks which engines read PDFs, images and recordings here, and which grammars parse source code.

One that is missing costs those files, nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator

from kb.config import Config
from kb.domain.checks import Check
from kb.errors import KbError, ModelMissing
from kb.extract.code.grammars import GRAMMARS
from kb.extract.code.installed import lacking_module
from kb.extract.registry import EXTRACTORS
from kb.installation import extra_command
from kb.operations.ingest.requests import extraction_plan


def check_grammars() -> Iterator[Check]:
    """Whether source code of every language is parsed here; one that is lacking is cut by paragraphs."""
    lacking = {lang: module for lang in GRAMMARS if (module := lacking_module(lang)) is not None}
    if not lacking:
        yield Check("grammars", True, f"{', '.join(GRAMMARS)} are parsed", needed=False)
        return
    modules = ", ".join(dict.fromkeys(lacking.values()))
    detail = f"{', '.join(lacking)} are cut by paragraphs: {modules} not installed"
    yield Check("grammars", False, detail, extra_command("code"), needed=False)


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
