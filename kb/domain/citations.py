"""Citations: a path and a fragment that say exactly where a passage is. Fragments of media are W3C Media Fragments."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, get_args
from urllib.parse import quote, unquote

from kb.domain.on_wire import on_wire, wire_kind
from kb.domain.text import stored_text
from kb.errors import InvalidCitation

_EXAMPLES = (
    "notes/a.md#L12-L34, paper.pdf#page=13, photo.png#xywh=120,40,520,180, talk.mp3#t=822,850 or plan.docx#para=14"
)


@on_wire("citation.v1", kind="line", fields="path uri=to_uri start end section")
class LineCitation(NamedTuple):
    """Whole lines of a text file, from 1, both ends included."""

    path: str
    start: int
    end: int
    section: str | None = None

    def to_uri(self) -> str:
        """The citation as `path#L12-L34`, or `path#L12` for a single line."""
        lines = f"L{self.start}" if self.start == self.end else f"L{self.start}-L{self.end}"
        return f"{self.path}#{lines}"


def shown_name(qualified: str, path: str) -> str:
    """A qualified name without the module that its file's path shows: `Foo.bar`."""
    module = path.rpartition(".")[0].removesuffix("/__init__")
    for prefix in (f"{module}.", f"{module.replace('/', '.')}."):
        if qualified.startswith(prefix) and module:
            return qualified[len(prefix) :]
    return qualified


@on_wire("citation.v1", kind="code", fields="path uri=to_uri line_start line_end symbol symbol_kind lang")
class CodeCitation(NamedTuple):
    """Whole lines of a source file, from 1, both ends included.

    `symbol` is the qualified name that these lines define, `symbol_kind` its kind (function, class, …), `lang` the
    language.
    """

    path: str
    line_start: int
    line_end: int
    symbol: str | None = None
    symbol_kind: str | None = None
    lang: str | None = None

    @property
    def start(self) -> int:
        """`line_start`, under the name that a `LineCitation` has for it."""
        return self.line_start

    @property
    def end(self) -> int:
        """`line_end`, under the name that a `LineCitation` has for it."""
        return self.line_end

    def to_uri(self) -> str:
        """The citation as `path#L10-L42`."""
        return LineCitation(self.path, self.line_start, self.line_end).to_uri()

    @property
    def name(self) -> str | None:
        """The name of the definition, without the module that the path shows."""
        return self.symbol and shown_name(self.symbol, self.path)

    def label(self, title: str) -> str:
        """The definition, `Foo.bar (method, python)`, or `title`, the file's title, if the lines define no name."""
        return f"{self.name or title} ({', '.join(filter(None, (self.symbol_kind, self.lang)))})"


@on_wire(title="RectangleV1")
class Box(NamedTuple):
    """A rectangle on a page: points (1/72 inch) from the top left of the page as it is shown."""

    # Of an image: pixels of the original.

    x: int
    y: int
    w: int
    h: int

    def joined(self, other: "Box") -> "Box":
        """The smallest box around both."""
        x, y = min(self.x, other.x), min(self.y, other.y)
        return Box(x, y, max(self.x + self.w, other.x + other.w) - x, max(self.y + self.h, other.y + other.h) - y)


@on_wire("citation.v1", kind="page", fields="path uri=to_uri page label section regions")
class PageCitation(NamedTuple):
    """A page of a PDF, from 1; `label` is the number printed on it, `regions` are the passage's rectangles."""

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
    """The caption of an image by a vision model."""

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


# The keys that parts are named by, and what a person calls them; nothing where the value says it.
_PART_WORDS = {
    **{
        key: key
        for key in ("slide", "cell", "entry", "node", "chapter", "message", "section", "note", "comment", "picture")
    },
    "para": "paragraph",
    "sheet": "",
    "cells": "",
    "part": "part",
}
# Parts of these keys are read on in their neighbours; others, such as slides and entries, stand by themselves.
_RUNNING = ("para", "cells", "cell", "note", "comment")
_IN_PART = r"[%&=:#\s\"'<>`|()\[\]\x00-\x1f\x7f]"


def part_name(**places: str | int) -> str:
    """The name of a part, by which it is found again: `sheet=Prices&cells=A2:D2` for `sheet="Prices", cells="A2:D2"`.

    The keys are those of `_PART_WORDS`; `cells` may be a range.
    """
    return "&".join(f"{key}={_in_part(str(place), key == 'cells')}" for key, place in places.items())


def _in_part(value: str, is_range: bool) -> str:
    escaped = re.sub(_IN_PART, lambda sign: quote(sign[0], safe=""), stored_text(" ".join(value.split())))
    return escaped.replace("%3A", ":", 1) if is_range else escaped


def split_part(name: str) -> tuple[str, str, str]:
    """Splits the name of a part or range: `para=14:18` gives the key `para` and the values `14` and `18`.

    With several keys, the first item holds everything before the last value. One part is the first and the last.
    """
    shared, _, value = name.rpartition("=")
    return shared, value.partition(":")[0], value.rpartition(":")[2]


def read_together(name: str) -> str:
    """A key that is equal for two parts that may share a passage: the name without its position, or the whole."""
    shared = split_part(name)[0]
    return shared if shared.rpartition("&")[2] in _RUNNING else name


def part_range(first: str, last: str) -> str:
    """The name of the range from one part to another: `para=14:18` for `para=14` and `para=18`."""
    (shared, start, _), (_, _, end) = split_part(first), split_part(last)
    return first if first == last else f"{shared}={start}:{end}"


_NAMED = rf"(?:{'|'.join(_PART_WORDS)})=[^#&=:\s]+(?::[^#&=:\s]+)?"
_PART = rf"({_NAMED}(?:&{_NAMED})*)(?:&char=([0-9]{{1,9}}),([0-9]{{1,9}}))?"


@on_wire("citation.v1", kind="part", fields="path uri=to_uri part label section char_start? char_end?")
class PartCitation(NamedTuple):
    """A part of a file, by the name that its format gives: paragraphs, a slide, cells of a sheet, an entry.

    `char_start` and `char_end` (exclusive) count the characters of the part's text where not all of it is cited.
    """

    path: str
    part: str
    section: str | None = None
    char_start: int | None = None
    char_end: int | None = None

    @property
    def places(self) -> list[tuple[str, str]]:
        """Each key of the name with its value as a person reads it: `[("section", "1"), ("para", "14–18")]`."""
        pairs = (each.partition("=")[::2] for each in self.part.split("&"))
        return [(key, unquote(value.replace(":", "–") if _PART_WORDS[key] else value)) for key, value in pairs]

    @property
    def label(self) -> str:
        """The place as a person says it: `Slide 3`, `Prices A2:D9`, `Ports, paragraph 14`."""
        words = ((key, _PART_WORDS[key], value) for key, value in self.places)
        said = (
            f"{', ' if key == 'picture' else ' '}{word}{'s' if word and '–' in value else ''}{' ' * bool(word)}{value}"
            for key, word, value in words
        )
        shown = "".join(said).removeprefix(",").removeprefix(" ")
        over = self.section
        if over and not shown.startswith(over):
            return f"{over}, {shown}"
        return shown[:1].upper() + shown[1:] if _PART_WORDS[self.part.partition("=")[0]] else shown

    def to_uri(self) -> str:
        """The citation as `path#para=14`, or `path#para=14&char=80,160` for some of its characters."""
        inside = "" if self.char_start is None else f"&char={self.char_start},{self.char_end}"
        return f"{self.path}#{self.part}{inside}"


Citation: TypeAlias = (
    LineCitation | CodeCitation | PageCitation | RegionCitation | CaptionCitation | TimeCitation | PartCitation
)

_KINDS: Mapping[str, type[Citation]] = {wire_kind(each): each for each in get_args(Citation)}

NARROWED = (RegionCitation, TimeCitation, PartCitation)
"""The citations of which a part of a passage has one too: the region, the time, the paragraph of a sentence."""
_INEXACT = f"a citation looks like {_EXAMPLES}"


def parse_citation(uri: str) -> Citation:
    """Parses a citation URI, of which the last `#` starts the fragment. Raises: InvalidCitation."""
    path, hash_sign, fragment = uri.rpartition("#")
    citation = _read_fragment(path, fragment) if path and hash_sign else None
    if citation is None:
        raise InvalidCitation(f"{uri!r} is not a citation", _INEXACT)
    start, end = 0, 0
    if isinstance(citation, LineCitation | CodeCitation):
        start, end = citation.start, citation.end
    elif isinstance(citation, TimeCitation):
        start, end = citation.start_ms, citation.end_ms
    elif isinstance(citation, PartCitation):
        start, end = citation.char_start or 0, citation.char_end or 0
    if end < start:
        raise InvalidCitation(f"{uri!r} ends before it starts", _INEXACT)
    return citation


# A Markdown link, a wiki link, brackets, quotes or stars around it. Both are compiled when a citation is read.
_WRAPPED = r"!?\[[^]]*]\((.+)\)|!?\[\[([^]|]+)(?:\|[^]]*)?]]|\(([^()]*(?:\([^()]*\)[^()]*)*)\)|[`\"'<*]+(.+?)[`\"'>*]+"
_LINES_OR_PAGE = (
    r"(?ai)(.+?)(?:[#:,@]\s*|\s+[(\[]?)(?:(page|p\.?)[\s=]*|lines?[\s=]*|L)?"
    r"([1-9]\d*)(?:[:C]\d+)?(?:(?:\s*(?:[-–—~]|\.\.)\s*L?|[:,]\s*L)([1-9]\d*)(?:[:C]\d+)?)?\s?[행줄]?[)\]]?"
)


def plain_citation(typed: str) -> str:
    """A citation that somebody else wrote, as kb writes it: `a.md#L10-L20` for `a.md:10-20` or `kb://lines/10-20/a.md`.

    Quotes and the brackets of links around it are removed. Text that is no citation stays as it is.
    """
    text = typed.strip().rstrip(".,;")
    if match := re.fullmatch(_WRAPPED, text):
        text = next(filter(None, match.groups()))
    if text.startswith("kb://"):
        kind, _, rest = unquote(text.removeprefix("kb://")).partition("/")
        part, _, path = rest.partition("/")
        addresses = {"doc": rest, "citation": rest, "symbol": f"#symbol={rest}", "lines": f"{path}#L{part}"}
        addresses |= {"page": f"{path}#page={part}", "time": f"{path}#t={part.replace('-', ',')}"}
        text = addresses.get(kind, text)
    path, _, fragment = text.rpartition("#")
    if _read_fragment(path, fragment) is None and (match := re.fullmatch(_LINES_OR_PAGE, text)):
        path, page, first, last = match.groups()
        return f"{path}#page={first}" if page else LineCitation(path, int(first), int(last or first)).to_uri()
    return text


def cite(path: str, spans: Sequence[Mapping[str, Any]], section: str | None) -> Citation:
    """The smallest citation that covers all `spans` (stored form; at least one; all of one kind and on one page)."""
    first, last = spans[0], spans[-1]
    match first["kind"]:
        case "line":
            return LineCitation(path, first["start"], last["end"], section)
        case "code":
            named = (first.get("symbol"), first.get("symbol_kind"), first.get("lang"))
            return CodeCitation(path, first["line_start"], last["line_end"], *named)
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
        case "part":
            at = first.get("part_start", first["char_start"])
            inside = (first["char_start"] - at, last["char_end"] - at)
            is_whole = inside == (0, last.get("part_end", last["char_end"]) - at)
            return PartCitation(path, part_range(first["part"], last["part"]), section, *(() if is_whole else inside))
    return CaptionCitation(path, first["model"])


def cited_as(citation: Citation, heading_path: Sequence[str], title: str) -> str:
    """What a person is told of a place besides its path: the definition, the part of the file, or the headings."""
    if isinstance(citation, CodeCitation):
        return citation.label(title)
    over = " › ".join(heading_path)
    if isinstance(citation, PartCitation):
        return citation._replace(section=over).label
    return over or title


def cited_lines(citation: Citation | None) -> LineCitation | None:
    """The lines that a citation of notes or source code points to; None for every other kind of citation."""
    if isinstance(citation, CodeCitation):
        return LineCitation(citation.path, citation.line_start, citation.line_end, citation.symbol)
    return citation if isinstance(citation, LineCitation) else None


def citation_to_json(citation: Citation) -> dict[str, Any]:
    """The stored form of a citation: its kind and fields."""
    return {"kind": wire_kind(citation), **citation._asdict()}


def citation_from_json(stored: Mapping[str, Any]) -> Citation:
    """Reads back a citation that `citation_to_json` wrote."""
    fields = {name: value for name, value in stored.items() if name != "kind"}
    if "regions" in fields:
        fields["regions"] = tuple(Box(*box) for box in fields["regions"])
    return _KINDS[stored["kind"]](**fields)


def _read_fragment(path: str, fragment: str) -> Citation | None:
    """Parses the fragment of a citation URI; None for an invalid one."""
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
    if match := re.fullmatch(_PART, fragment):
        return PartCitation(path, match[1], None, *(map(int, match.group(2, 3)) if match[2] else ()))
    return None


def _seconds(ms: int) -> str:
    return f"{ms // 1000}.{ms % 1000:03}".rstrip("0").rstrip(".")


def _milliseconds(seconds: str) -> int:
    whole, _, part = seconds.partition(".")
    return int(whole) * 1000 + int(part.ljust(3, "0"))
