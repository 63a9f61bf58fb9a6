"""A knowledge base with vectors, by the installed models: what they made once is kept beside them between runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.installed_models import CACHE, installed_models
from benchmarks.knowledge_base import KnowledgeBase, knowledge_base
from benchmarks.progress import step


@contextmanager
def embedded(root: Path, name: str) -> Iterator[KnowledgeBase]:
    """The documents below `root`, indexed and embedded; `name` is what progress calls them."""
    models = installed_models()
    with knowledge_base(root, settings=f'model_dir = "{models}"', cache_dir=models / CACHE) as base:
        with step(f"{name}: index and vectors"):
            report = base.ingest(embed=True)
        if report.notes:
            raise SystemExit(report.notes[0])
        yield base
