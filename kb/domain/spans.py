"""Where a passage is in its source: lines of a text, a page, a region of an image, a time of a recording.

`char_start` and `char_end` (exclusive) are character positions in a text: for a page, the text of that page; for
everything else, the document's `source_text`. They locate each part of a chunk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from kb.domain.citations import Box
from kb.domain.ids import Json
from kb.domain.on_wire import on_wire, wire_kind


class _Span:
    """The base class of spans, with their stored form, as in `blocks.source_span_json`."""

    __slots__ = ()

    def to_json(self) -> dict[str, Json]:
        """The kind and the fields of the span, a box as four numbers; fields that are None are left out."""
        stored: dict[str, Json] = {"kind": wire_kind(self)}
        names: tuple[str, ...] = self.__slots__  # of the dataclass
        for name in names:
            value = getattr(self, name)
            if isinstance(value, Box):
                stored |= value._asdict()
            elif value is not None:
                stored[name] = value
        return stored


@on_wire(kind="line", fields="start end char_start? char_end?")
@dataclass(frozen=True, slots=True)
class LineSpan(_Span):
    """Whole lines, from 1, both ends included, and the block's characters if other blocks share these lines."""

    start: int
    end: int
    char_start: int | None = None
    char_end: int | None = None


@on_wire(kind="code", fields="line_start line_end symbol? symbol_kind? lang?")
@dataclass(frozen=True, slots=True)
class CodeSpan(_Span):
    """Whole lines of a source file, from 1, both ends included, and the definition in them."""

    line_start: int
    line_end: int
    symbol: str | None = None
    symbol_kind: str | None = None
    lang: str | None = None


@on_wire(kind="page", fields="page label? char_start char_end x=box.x y=box.y w=box.w h=box.h")
@dataclass(frozen=True, slots=True)
class PageSpan(_Span):
    """Characters of a page's text (end exclusive), and the rectangle around them in points."""

    # `page` counts from 1, `label` is printed on it; `box` is of the page as it is shown, its rotation applied.

    page: int
    char_start: int
    char_end: int
    box: Box | None = None
    label: str | None = None


@on_wire(kind="region", fields="x=box.x y=box.y w=box.w h=box.h char_start char_end")
@dataclass(frozen=True, slots=True)
class RegionSpan(_Span):
    """A rectangle of an image in pixels, and the characters of the image's text that are in it."""

    # The pixels of the original file as they are stored, before any EXIF turn.

    box: Box
    char_start: int
    char_end: int


@on_wire(kind="time", fields="start_ms end_ms speaker? char_start char_end")
@dataclass(frozen=True, slots=True)
class TimeSpan(_Span):
    """A stretch of a recording, and the characters of its transcript that are spoken there."""

    start_ms: int
    end_ms: int
    char_start: int
    char_end: int
    speaker: str | None = None


@on_wire(kind="caption")
@dataclass(frozen=True, slots=True)
class CaptionSpan(_Span):
    """The characters of an image's text that a vision model wrote."""

    model: str
    char_start: int
    char_end: int


@on_wire(kind="part", fields="part char_start char_end part_start part_end")
@dataclass(frozen=True, slots=True)
class PartSpan(_Span):
    """A named part of a file: where its text is (`part_start`..`part_end`), and the characters of it that are meant."""

    part: str
    char_start: int
    char_end: int
    part_start: int
    part_end: int

    def to_json(self) -> dict[str, Json]:
        """The kind and fields of the span; `part_start` and `part_end` only if they differ from the characters'."""
        stored = super(PartSpan, self).to_json()
        for name in ("start", "end"):
            if stored[f"part_{name}"] == stored[f"char_{name}"]:
                del stored[f"part_{name}"]
        return stored


LocatedSpan: TypeAlias = PageSpan | RegionSpan | TimeSpan | CaptionSpan | PartSpan
"""Every span that says which characters are at its place."""

SourceSpan: TypeAlias = LineSpan | CodeSpan | LocatedSpan
