"""citation.v1: where a passage stands, flat, told apart by `kind`."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from kb.domain.citations import Citation, CodeCitation
from kb.domain.media_citations import CaptionCitation, PageCitation, RegionCitation, TimeCitation


class LineCitationV1(TypedDict):
    """Whole lines of a text file, from 1, both ends included."""

    schema_version: Literal["citation.v1"]
    kind: Literal["line"]
    path: str
    uri: str
    start: int
    end: int
    section: str | None


class CodeCitationV1(TypedDict):
    """Whole lines of a source file, from 1, both ends included.

    `symbol` is what they define, `symbol_kind` what that is (function, class, …), `lang` the language.
    """

    schema_version: Literal["citation.v1"]
    kind: Literal["code"]
    path: str
    uri: str
    line_start: int
    line_end: int
    symbol: str | None
    symbol_kind: str | None
    lang: str | None


class RectangleV1(TypedDict):
    """A rectangle on a page: points (1/72 inch) from the top left of the page as it is shown."""

    x: int
    y: int
    w: int
    h: int


class PageCitationV1(TypedDict):
    """A page of a PDF, from 1; `label` is the number printed on it, `regions` where on it the passage stands."""

    schema_version: Literal["citation.v1"]
    kind: Literal["page"]
    path: str
    uri: str
    page: int
    label: str | None
    section: str | None
    regions: list[RectangleV1]


class RegionCitationV1(TypedDict):
    """A rectangle of an image, in pixels of the original from its top left."""

    schema_version: Literal["citation.v1"]
    kind: Literal["region"]
    path: str
    uri: str
    x: int
    y: int
    w: int
    h: int


class CaptionCitationV1(TypedDict):
    """What a vision model said of an image."""

    schema_version: Literal["citation.v1"]
    kind: Literal["caption"]
    path: str
    uri: str
    model: str


class TimeCitationV1(TypedDict):
    """A stretch of a recording, in milliseconds from its start."""

    schema_version: Literal["citation.v1"]
    kind: Literal["time"]
    path: str
    uri: str
    start_ms: int
    end_ms: int
    speaker: str | None


CitationV1 = LineCitationV1 | CodeCitationV1 | PageCitationV1 | RegionCitationV1 | CaptionCitationV1 | TimeCitationV1


def citation_v1(citation: Citation) -> CitationV1:
    """The wire form of a citation."""
    path, uri = citation.path, citation.to_uri()
    if isinstance(citation, CodeCitation):
        return {
            "schema_version": "citation.v1",
            "kind": "code",
            "path": path,
            "uri": uri,
            "line_start": citation.line_start,
            "line_end": citation.line_end,
            "symbol": citation.symbol,
            "symbol_kind": citation.symbol_kind,
            "lang": citation.lang,
        }
    if isinstance(citation, PageCitation):
        return {
            "schema_version": "citation.v1",
            "kind": "page",
            "path": path,
            "uri": uri,
            "page": citation.page,
            "label": citation.label,
            "section": citation.section,
            "regions": [{"x": x, "y": y, "w": w, "h": h} for x, y, w, h in citation.regions],
        }
    if isinstance(citation, RegionCitation):
        return {
            "schema_version": "citation.v1",
            "kind": "region",
            "path": path,
            "uri": uri,
            "x": citation.x,
            "y": citation.y,
            "w": citation.w,
            "h": citation.h,
        }
    if isinstance(citation, CaptionCitation):
        return {"schema_version": "citation.v1", "kind": "caption", "path": path, "uri": uri, "model": citation.model}
    if isinstance(citation, TimeCitation):
        return {
            "schema_version": "citation.v1",
            "kind": "time",
            "path": path,
            "uri": uri,
            "start_ms": citation.start_ms,
            "end_ms": citation.end_ms,
            "speaker": citation.speaker,
        }
    return {
        "schema_version": "citation.v1",
        "kind": "line",
        "path": path,
        "uri": uri,
        "start": citation.start,
        "end": citation.end,
        "section": citation.section,
    }
