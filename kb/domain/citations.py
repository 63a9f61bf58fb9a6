"""Citations: a path and a fragment that say exactly where a passage stands (W3C Media Fragments, frozen design §0)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kb.errors import InvalidCitation

_EXAMPLES = "notes/a.md#L12-L34, paper.pdf#page=13, photo.png#xywh=120,40,520,180 or talk.mp3#t=822,850"


class LineCitation(NamedTuple):
    """Whole lines of a text file, from 1, both ends included: `notes/a.md#L12-L34`."""

    path: str
    start: int
    end: int
    section: str | None = None

    def to_uri(self) -> str:
        """The citation as `path#L12-L34`, or `path#L12` for a single line."""
        lines = f"L{self.start}" if self.start == self.end else f"L{self.start}-L{self.end}"
        return f"{self.path}#{lines}"


class PageCitation(NamedTuple):
    """A page of a PDF, from 1: `paper.pdf#page=13`.

    `label` is the number printed on it. `regions` are the (x, y, w, h) in points from the page's top left that hold the
    passage; like `section` and `label` they are not part of the URI.
    """

    path: str
    page: int
    section: str | None = None
    label: str | None = None
    regions: tuple[tuple[int, int, int, int], ...] = ()

    def to_uri(self) -> str:
        """The citation as `path#page=13`."""
        return f"{self.path}#page={self.page}"


class RegionCitation(NamedTuple):
    """A rectangle of an image, in pixels of the original from its top left: `photo.png#xywh=120,40,520,180`."""

    path: str
    x: int
    y: int
    w: int
    h: int

    def to_uri(self) -> str:
        """The citation as `path#xywh=x,y,w,h`."""
        return f"{self.path}#xywh={self.x},{self.y},{self.w},{self.h}"


class CaptionCitation(NamedTuple):
    """What a vision model said of an image: `photo.png#caption=qwen2.5-vl:7b`."""

    path: str
    model: str

    def to_uri(self) -> str:
        """The citation as `path#caption=model`."""
        return f"{self.path}#caption={self.model}"


class TimeCitation(NamedTuple):
    """A stretch of a recording, in milliseconds: `talk.mp3#t=822,850.5` (the URI counts in seconds)."""

    path: str
    start_ms: int
    end_ms: int
    speaker: str | None = None

    def to_uri(self) -> str:
        """The citation as `path#t=822,850.5`."""
        return f"{self.path}#t={_seconds(self.start_ms)},{_seconds(self.end_ms)}"


Citation = LineCitation | PageCitation | RegionCitation | CaptionCitation | TimeCitation


def parse_citation(uri: str) -> Citation:
    """The citation that `uri` spells. A `#` inside the path is fine: the last one starts the fragment.

    Raises: InvalidCitation.
    """
    path, hash_sign, fragment = uri.rpartition("#")
    citation = _read_fragment(path, fragment) if path and hash_sign else None
    if citation is None:
        raise InvalidCitation(f"{uri!r} is not a citation", f"a citation looks like {_EXAMPLES}")
    if isinstance(citation, LineCitation) and citation.end < citation.start:
        raise InvalidCitation(f"{uri!r} ends before it starts", f"a citation looks like {_EXAMPLES}")
    if isinstance(citation, TimeCitation) and citation.end_ms < citation.start_ms:
        raise InvalidCitation(f"{uri!r} ends before it starts", f"a citation looks like {_EXAMPLES}")
    return citation


def cite(path: str, spans: Sequence[Mapping[str, Any]], section: str | None) -> Citation:
    """The citation around all of `spans` (their stored form, at least one, all of one kind and page)."""
    first, last = spans[0], spans[-1]
    match first["kind"]:
        case "page":
            boxes = tuple((span["x"], span["y"], span["w"], span["h"]) for span in spans if "x" in span)
            return PageCitation(path, first["page"], section, first.get("label"), boxes)
        case "region":
            x, y = min(span["x"] for span in spans), min(span["y"] for span in spans)
            right, bottom = max(span["x"] + span["w"] for span in spans), max(span["y"] + span["h"] for span in spans)
            return RegionCitation(path, x, y, right - x, bottom - y)
        case "time":
            speakers = {span.get("speaker") for span in spans}
            return TimeCitation(path, first["start_ms"], last["end_ms"], speakers.pop() if len(speakers) == 1 else None)
        case "caption":
            return CaptionCitation(path, first["model"])
    return LineCitation(path, first["start"], last["end"], section)


def _read_fragment(path: str, fragment: str) -> Citation | None:
    if match := re.fullmatch(r"L([1-9][0-9]*)(?:-L([1-9][0-9]*))?", fragment):
        return LineCitation(path, int(match[1]), int(match[2] or match[1]))
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


_KINDS: Mapping[str, type[Citation]] = {
    "line": LineCitation,
    "page": PageCitation,
    "region": RegionCitation,
    "caption": CaptionCitation,
    "time": TimeCitation,
}


def citation_kind(citation: Citation) -> str:
    """What a citation points into, as `citation.v1` names it: line, page, region, caption or time."""
    return next(kind for kind, made in _KINDS.items() if type(citation) is made)


def citation_to_json(citation: Citation) -> dict[str, Any]:
    """The stored form of a citation: its kind and fields."""
    return {"kind": citation_kind(citation), **citation._asdict()}


def citation_from_json(stored: Mapping[str, Any]) -> Citation:
    """The citation that was stored."""
    fields = {name: value for name, value in stored.items() if name != "kind"}
    if "regions" in fields:
        fields["regions"] = tuple(tuple(box) for box in fields["regions"])
    return _KINDS[stored["kind"]](**fields)
