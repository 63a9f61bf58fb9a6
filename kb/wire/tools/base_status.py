"""base_status.v1: what is indexed, how fresh it is and what is missing; what the tool `status` gives."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from kb.domain.results.listing import BaseStatus


class BaseStatusV1(TypedDict):
    """What the knowledge base holds now. `searched_by` is what a question is searched by by default.

    `missing` says what would make it better, each with what to do. `languages` and `kinds` count documents.
    """

    schema_version: Literal["base_status.v1"]
    kb_version: str
    documents: int
    passages: int
    languages: dict[str, int]
    kinds: dict[str, int]
    last_ingest_at: str | None
    corpus_revision: int
    searched_by: Literal["words and meaning", "words"]
    missing: list[str]


def base_status_v1(status: BaseStatus, kb_version: str) -> BaseStatusV1:
    """The wire form of a status."""
    return {
        "schema_version": "base_status.v1",
        "kb_version": kb_version,
        "documents": status.documents,
        "passages": status.passages,
        "languages": dict(status.languages),
        "kinds": dict(status.kinds),
        "last_ingest_at": status.last_ingest_at,
        "corpus_revision": status.corpus_revision,
        "searched_by": "words and meaning" if status.by_meaning else "words",
        "missing": list(status.missing),
    }
