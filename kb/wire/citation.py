"""citation.v1: where a passage stands, flat, told apart by `kind`."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from kb.domain.citations import Citation


class LineCitationV1(TypedDict):
    """Whole lines of a text file, from 1, both ends included."""

    schema_version: Literal["citation.v1"]
    kind: Literal["line"]
    path: str
    uri: str
    start: int
    end: int
    section: str | None


CitationV1 = LineCitationV1


def citation_v1(citation: Citation) -> CitationV1:
    """The wire form of a citation."""
    return {
        "schema_version": "citation.v1",
        "kind": "line",
        "path": citation.path,
        "uri": citation.to_uri(),
        "start": citation.start,
        "end": citation.end,
        "section": citation.section,
    }
