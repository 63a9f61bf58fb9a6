"""web_start.v1: what the page of `kb web` is told when it is opened."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

import kb
from kb.domain.results.inspection import CorpusStats
from kb.domain.search import SearchDefaults


class WebStartV1(TypedDict):
    """How a question is asked that does not say itself, and what there is to search; `csrf` goes with every POST."""

    schema_version: Literal["web_start.v1"]
    version: str
    csrf: str
    workspace: str
    mode: Literal["lexical", "vector", "hybrid"]
    k: int
    documents: int
    passages: int
    last_ingest_at: str | None
    may_write: bool


def web_start_v1(
    stats: CorpusStats, defaults: SearchDefaults, *, workspace: str, csrf: str, may_write: bool
) -> WebStartV1:
    """The wire form of the start."""
    return {
        "schema_version": "web_start.v1",
        "version": kb.__version__,
        "csrf": csrf,
        "workspace": workspace,
        "mode": defaults.mode,
        "k": defaults.k,
        "documents": stats.documents,
        "passages": stats.chunks,
        "last_ingest_at": stats.last_ingest_at,
        "may_write": may_write,
    }
