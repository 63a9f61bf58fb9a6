"""Citations of what has no lines: pages, regions of pictures, times of recordings, captions (W3C Media Fragments).

A module of its own, because a search among notes does without them, and each class counts in a cold process.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from kb.domain.on_wire import on_wire
from kb.records import NamedTuple


@on_wire(title="RectangleV1")
class Box(NamedTuple):
    """A rectangle on a page: points (1/72 inch) from the top left of the page as it is shown."""

    # Of an image: pixels of the original.

    x: int
    y: int
    w: int
    h: int

    def joined(self, other: Box) -> Box:
        """The smallest box around both."""
        x, y = min(self.x, other.x), min(self.y, other.y)
        return Box(x, y, max(self.x + self.w, other.x + other.w) - x, max(self.y + self.h, other.y + other.h) - y)


@on_wire("citation.v1", kind="page", fields="path uri=to_uri page label section regions")
class PageCitation(NamedTuple):
    """A page of a PDF, from 1; `label` is the number printed on it, `regions` where on it the passage stands."""

    path: str
    page: int
    section: str | None = None
    label: str | None = None
    regions: tuple[Box, ...] = ()

    def to_uri(self) -> str:
        """The citation as `path#page=13`."""
        return f"{self.path}#page={self.page}"


@on_wire("citation.v1", kind="region", fields="path uri=to_uri x y w h")
class RegionCitation(NamedTuple):
    """A rectangle of an image, in pixels of the original from its top left."""

    path: str
    x: int
    y: int
    w: int
    h: int

    def to_uri(self) -> str:
        """The citation as `path#xywh=x,y,w,h`."""
        return f"{self.path}#xywh={self.x},{self.y},{self.w},{self.h}"


@on_wire("citation.v1", kind="caption", fields="path uri=to_uri model")
class CaptionCitation(NamedTuple):
    """What a vision model said of an image."""

    path: str
    model: str

    def to_uri(self) -> str:
        """The citation as `path#caption=model`."""
        return f"{self.path}#caption={self.model}"


@on_wire("citation.v1", kind="time", fields="path uri=to_uri start_ms end_ms speaker")
class TimeCitation(NamedTuple):
    """A stretch of a recording, in milliseconds from its start."""

    path: str
    start_ms: int
    end_ms: int
    speaker: str | None = None

    def to_uri(self) -> str:
        """The citation as `path#t=822,850.5`, in seconds."""
        return f"{self.path}#t={_seconds(self.start_ms)},{_seconds(self.end_ms)}"


MediaCitation = PageCitation | RegionCitation | CaptionCitation | TimeCitation

KINDS: Mapping[str, type[MediaCitation]] = {
    "page": PageCitation,
    "region": RegionCitation,
    "caption": CaptionCitation,
    "time": TimeCitation,
}


def cite_media(path: str, spans: Sequence[Mapping[str, Any]], section: str | None) -> MediaCitation:
    """The citation around all of `spans` (their stored form, at least one, all of one kind and page)."""
    first, last = spans[0], spans[-1]
    match first["kind"]:
        case "page":
            boxes = tuple(Box(span["x"], span["y"], span["w"], span["h"]) for span in spans if "x" in span)
            return PageCitation(path, first["page"], section, first.get("label"), boxes)
        case "region":
            x, y = min(span["x"] for span in spans), min(span["y"] for span in spans)
            right, bottom = max(span["x"] + span["w"] for span in spans), max(span["y"] + span["h"] for span in spans)
            return RegionCitation(path, x, y, right - x, bottom - y)
        case "time":
            speakers = {span.get("speaker") for span in spans}
            return TimeCitation(path, first["start_ms"], last["end_ms"], speakers.pop() if len(speakers) == 1 else None)
    return CaptionCitation(path, first["model"])


def read_media_fragment(path: str, fragment: str) -> MediaCitation | None:
    """The citation a URI's fragment spells; None where it spells none."""
    if match := re.fullmatch(r"page=([1-9][0-9]*)", fragment):
        return PageCitation(path, int(match[1]))
    if match := re.fullmatch(r"xywh=([0-9]+),([0-9]+),([1-9][0-9]*),([1-9][0-9]*)", fragment):
        return RegionCitation(path, int(match[1]), int(match[2]), int(match[3]), int(match[4]))
    if match := re.fullmatch(r"t=([0-9]+(?:\.[0-9]{1,3})?),([0-9]+(?:\.[0-9]{1,3})?)", fragment):
        return TimeCitation(path, _milliseconds(match[1]), _milliseconds(match[2]))
    if match := re.fullmatch(r"caption=([^\s#]+)", fragment):
        return CaptionCitation(path, match[1])
    return None


def _seconds(ms: int) -> str:
    return f"{ms // 1000}.{ms % 1000:03}".rstrip("0").rstrip(".")


def _milliseconds(seconds: str) -> int:
    whole, _, part = seconds.partition(".")
    return int(whole) * 1000 + int(part.ljust(3, "0"))
