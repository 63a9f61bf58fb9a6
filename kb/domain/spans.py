"""Where a passage is in its source: lines of a text, a page, a region of an image, a time of a recording.

`char_start` and `char_end` (exclusive) count the characters of the text that was read from the source: of the page's
text for a page, of the document's `source_text` for the others. They tell which part of a chunk stands where.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from kb.domain.ids import Json
from kb.domain.media_citations import Box
from kb.domain.on_wire import on_wire


@on_wire(kind="line")
@dataclass(frozen=True, slots=True)
class LineSpan:
    """Whole lines, from 1, both ends included."""

    start: int
    end: int

    def to_json(self) -> dict[str, Json]:
        """The stored form, as in `blocks.source_span_json`."""
        return {"kind": "line", "start": self.start, "end": self.end}


@on_wire(kind="code", fields="line_start line_end symbol? symbol_kind? lang?")
@dataclass(frozen=True, slots=True)
class CodeSpan:
    """Whole lines of a source file, from 1, both ends included, and what they define."""

    line_start: int
    line_end: int
    symbol: str | None = None
    symbol_kind: str | None = None
    lang: str | None = None

    def to_json(self) -> dict[str, Json]:
        """The stored form; what is not known is left out."""
        span: dict[str, Json] = {"kind": "code", "line_start": self.line_start, "line_end": self.line_end}
        named = {"symbol": self.symbol, "symbol_kind": self.symbol_kind, "lang": self.lang}
        return span | {name: value for name, value in named.items() if value is not None}


@on_wire(kind="page", fields="page label? char_start char_end x=box.x y=box.y w=box.w h=box.h")
@dataclass(frozen=True, slots=True)
class PageSpan:
    """Characters of a page's text (the end excluded), and the rectangle around them in points."""

    # `page` counts from 1, `label` is printed on it; `box` is of the page as it is shown, its rotation applied.

    page: int
    char_start: int
    char_end: int
    box: Box | None = None
    label: str | None = None

    def to_json(self) -> dict[str, Json]:
        """The stored form; what is not known is left out."""
        span: dict[str, Json] = {"kind": "page", "page": self.page, **_chars(self)}
        if self.box is not None:
            span |= self.box._asdict()
        if self.label is not None:
            span["label"] = self.label
        return span


@on_wire(kind="region", fields="x=box.x y=box.y w=box.w h=box.h char_start char_end")
@dataclass(frozen=True, slots=True)
class RegionSpan:
    """A rectangle of an image in pixels, and the characters of its text that are there."""

    # The pixels of the original file as they are stored, before any EXIF turn.

    box: Box
    char_start: int
    char_end: int

    def to_json(self) -> dict[str, Json]:
        """The stored form."""
        return {"kind": "region", **self.box._asdict(), **_chars(self)}


@on_wire(kind="time", fields="start_ms end_ms speaker? char_start char_end")
@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A stretch of a recording, and the characters of its transcript that are spoken there."""

    start_ms: int
    end_ms: int
    char_start: int
    char_end: int
    speaker: str | None = None

    def to_json(self) -> dict[str, Json]:
        """The stored form; an unknown speaker is left out."""
        span: dict[str, Json] = {"kind": "time", "start_ms": self.start_ms, "end_ms": self.end_ms, **_chars(self)}
        if self.speaker is not None:
            span["speaker"] = self.speaker
        return span


@on_wire(kind="caption")
@dataclass(frozen=True, slots=True)
class CaptionSpan:
    """The characters of an image's text that a vision model wrote."""

    model: str
    char_start: int
    char_end: int

    def to_json(self) -> dict[str, Json]:
        """The stored form."""
        return {"kind": "caption", "model": self.model, **_chars(self)}


LocatedSpan: TypeAlias = PageSpan | RegionSpan | TimeSpan | CaptionSpan
"""Every span that says which characters stand where it points."""

SourceSpan: TypeAlias = LineSpan | CodeSpan | LocatedSpan


def _chars(span: LocatedSpan) -> dict[str, Json]:
    return {"char_start": span.char_start, "char_end": span.char_end}
