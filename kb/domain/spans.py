"""Where a passage is in its source: lines of a text, a page, a region of an image, a time of a recording.

`char_start` and `char_end` (exclusive) count the characters of the text that was read from the source: of the page's
text for a page, of the document's `source_text` for the others. They tell which part of a chunk stands where.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from kb.domain.ids import Json


class Box(NamedTuple):
    """A rectangle, its origin at the top left: pixels of the original image, or points (1/72 inch) of a page."""

    x: int
    y: int
    w: int
    h: int

    def joined(self, other: Box) -> Box:
        """The smallest box around both."""
        x, y = min(self.x, other.x), min(self.y, other.y)
        return Box(x, y, max(self.x + self.w, other.x + other.w) - x, max(self.y + self.h, other.y + other.h) - y)


@dataclass(frozen=True, slots=True)
class LineSpan:
    """Whole lines `start`..`end` of a text file, counted from 1, both included."""

    start: int
    end: int

    def to_json(self) -> dict[str, Json]:
        """The stored form, as in `blocks.source_span_json`."""
        return {"kind": "line", "start": self.start, "end": self.end}


@dataclass(frozen=True, slots=True)
class CodeSpan:
    """Whole lines of a source file, from 1, both included, and what they define: `Foo.bar`, `method`, `rust`."""

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


@dataclass(frozen=True, slots=True)
class PageSpan:
    """Characters of page `page` (from 1) of a PDF, where they are on it, and the number printed on that page.

    `box` is in points of the page as it is shown, its rotation applied; `label` is None where the PDF names none.
    """

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


@dataclass(frozen=True, slots=True)
class RegionSpan:
    """A rectangle of an image, in pixels of the original file as they are stored (before any EXIF turn)."""

    box: Box
    char_start: int
    char_end: int

    def to_json(self) -> dict[str, Json]:
        """The stored form."""
        return {"kind": "region", **self.box._asdict(), **_chars(self)}


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A stretch of a recording, in milliseconds from its start."""

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


@dataclass(frozen=True, slots=True)
class CaptionSpan:
    """What a vision model said of a whole image."""

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
