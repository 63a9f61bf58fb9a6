"""Citations: a path and a fragment that say exactly where a passage stands (W3C Media Fragments, frozen design §0)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from kb.domain.on_wire import on_wire, wire_kind
from kb.domain.symbols import shown_name
from kb.errors import InvalidCitation
from kb.records import NamedTuple

if TYPE_CHECKING:
    from kb.domain.media_citations import CaptionCitation, PageCitation, RegionCitation, TimeCitation

_EXAMPLES = "notes/a.md#L12-L34, paper.pdf#page=13, photo.png#xywh=120,40,520,180 or talk.mp3#t=822,850"


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


@on_wire("citation.v1", kind="code", fields="path uri=to_uri line_start line_end symbol symbol_kind lang")
class CodeCitation(NamedTuple):
    """Whole lines of a source file, from 1, both ends included.

    `symbol` is what they define, `symbol_kind` what that is (function, class, …), `lang` the language.
    """

    path: str
    line_start: int
    line_end: int
    symbol: str | None = None
    symbol_kind: str | None = None
    lang: str | None = None

    @property
    def start(self) -> int:
        """The first line, as other citations of lines call it."""
        return self.line_start

    @property
    def end(self) -> int:
        """The last line, as other citations of lines call it."""
        return self.line_end

    def to_uri(self) -> str:
        """The citation as `path#L10-L42`."""
        return LineCitation(self.path, self.line_start, self.line_end).to_uri()

    @property
    def name(self) -> str | None:
        """The name of what is defined there, without the module that the path says."""
        return self.symbol and shown_name(self.symbol, self.path)

    def label(self, title: str) -> str:
        """What is defined there: `Foo.bar (method, python)`; `title` is that of the file, for what has no name."""
        return f"{self.name or title} ({', '.join(filter(None, (self.symbol_kind, self.lang)))})"


Citation: TypeAlias = "LineCitation | CodeCitation | PageCitation | RegionCitation | CaptionCitation | TimeCitation"


def parse_citation(uri: str) -> Citation:
    """The citation that `uri` spells. A `#` inside the path is fine: the last one starts the fragment.

    Raises: InvalidCitation.
    """
    path, hash_sign, fragment = uri.rpartition("#")
    citation = _read_fragment(path, fragment) if path and hash_sign else None
    if citation is None:
        raise InvalidCitation(f"{uri!r} is not a citation", f"a citation looks like {_EXAMPLES}")
    start, end = _ends(citation)
    if end < start:
        raise InvalidCitation(f"{uri!r} ends before it starts", f"a citation looks like {_EXAMPLES}")
    return citation


def cite(path: str, spans: Sequence[Mapping[str, Any]], section: str | None) -> Citation:
    """The citation around all of `spans` (their stored form, at least one, all of one kind and page)."""
    first, last = spans[0], spans[-1]
    if first["kind"] == "line":
        return LineCitation(path, first["start"], last["end"], section)
    if first["kind"] == "code":
        named = (first.get("symbol"), first.get("symbol_kind"), first.get("lang"))
        return CodeCitation(path, first["line_start"], last["line_end"], *named)
    from kb.domain.media_citations import cite_media

    return cite_media(path, spans, section)


def cited_lines(citation: Citation | None) -> LineCitation | None:
    """The lines that a citation of notes or source code points to; None for a citation of anything else."""
    if isinstance(citation, CodeCitation):
        return LineCitation(citation.path, citation.line_start, citation.line_end, citation.symbol)
    return citation if isinstance(citation, LineCitation) else None


def citation_to_json(citation: Citation) -> dict[str, Any]:
    """The stored form of a citation: its kind and fields."""
    return {"kind": wire_kind(citation), **citation._asdict()}


def citation_from_json(stored: Mapping[str, Any]) -> Citation:
    """The citation that was stored."""
    fields = {name: value for name, value in stored.items() if name != "kind"}
    if stored["kind"] == "line":
        return LineCitation(**fields)
    if stored["kind"] == "code":
        return CodeCitation(**fields)
    from kb.domain.media_citations import KINDS, Box

    if "regions" in fields:
        fields["regions"] = tuple(Box(*box) for box in fields["regions"])
    return KINDS[stored["kind"]](**fields)


def _read_fragment(path: str, fragment: str) -> Citation | None:
    if match := re.fullmatch(r"L([1-9][0-9]*)(?:-L([1-9][0-9]*))?", fragment):
        return LineCitation(path, int(match[1]), int(match[2] or match[1]))
    from kb.domain.media_citations import read_media_fragment

    return read_media_fragment(path, fragment)


def _ends(citation: Citation) -> tuple[int, int]:
    """Where a citation starts and ends, in lines or milliseconds; zeros where it has no ends."""
    if isinstance(citation, LineCitation | CodeCitation):
        return citation.start, citation.end
    from kb.domain.media_citations import TimeCitation

    return (citation.start_ms, citation.end_ms) if isinstance(citation, TimeCitation) else (0, 0)
