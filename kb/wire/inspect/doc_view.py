"""doc_view.v1: a document as it is shown on the page."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from kb.domain.results.viewing import DocumentView
from kb.wire.citation import CitationV1, citation_v1
from kb.wire.inspect.doc_summary import DocSummaryV1, doc_summary_v1


class SpokenV1(TypedDict):
    """A stretch of speech in a recording, in milliseconds from its start."""

    start_ms: int
    end_ms: int
    text: str


class DocViewV1(TypedDict):
    """A document with its text as HTML in which nothing runs, and the place in it that was asked for.

    `html`: a note as it reads, each block with its lines as `data-from` and `data-to`; null for other kinds. `lines`:
    each line of a text, from 1; null where the kind is not cited by lines. Of other kinds `place_text` is what was read
    at the place, and `speech` what is said in a recording. `is_current`: the file is as it was indexed.
    """

    schema_version: Literal["doc_view.v1"]
    document: DocSummaryV1
    citation: CitationV1 | None
    html: str | None
    lines: list[str] | None
    place_text: str | None
    speech: list[SpokenV1]
    is_current: bool


def doc_view_v1(view: DocumentView, html: str | None, lines: list[str] | None) -> DocViewV1:
    """The wire form of a document that is shown."""
    return {
        "schema_version": "doc_view.v1",
        "document": doc_summary_v1(view.document),
        "citation": None if view.citation is None else citation_v1(view.citation),
        "html": html,
        "lines": lines,
        "place_text": view.place_text,
        "speech": [{"start_ms": each.start_ms, "end_ms": each.end_ms, "text": each.text} for each in view.speech],
        "is_current": view.is_current,
    }
