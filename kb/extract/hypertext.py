"""HTML → blocks of readable text, each piece with its line in the source: for web pages and for formats made of HTML.

source → tags and text (`page_tokens`) → elements → pieces of blocks → blocks that are content (`page_content`)

Nothing is fetched, and scripts are ignored. Time and memory grow linearly with the source.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from kb.extract.page_content import HtmlBlock, LineText, content_of, is_beside
from kb.extract.page_metadata import PageMetadata
from kb.extract.page_tokens import RAW, Tag, attributes_of, tokens

_MOST_DEPTH, _MOST_BESIDE_DEPTH = 400, 20

_SOURCE = re.compile(r"(?:^|\s)(?:src|xlink:href|href)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE)
_SPACES = re.compile(r"[ \t\r\f\v\0\xa0\u2000-\u200a\u3000]+")
_UNSEEN = re.compile("[\u00ad\u200b\u2060\ufeff]")
_ENTITY_LINES = re.compile(r"&(?:#0*1[03]|#[xX]0*[aAdD]|NewLine);")
_LANGUAGE_CLASS = re.compile(r"(?:^|\s)(?:language|lang|highlight-source|highlight|brush:|sourceCode)[-\s]([\w+#.-]+)")

_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
_OF_HEAD = frozenset("base link meta noscript script style template title".split())
_UNREAD = RAW | frozenset(
    "head noscript template svg math object canvas audio video button select rt rp datalist map".split()
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
BLOCKS = (
    frozenset(
        (
            "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption "
            "figure footer form header hgroup hr legend li main menu nav ol p pre section summary table tbody td tfoot "
            "th thead tr ul"
        ).split()
    )
    | _HEADINGS.keys()
)
"""Elements that begin and end a line of text."""

# An open element that a sibling closes, up to the element that bounds it.
_CLOSED_BY: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "li": (frozenset({"li"}), frozenset({"ul", "ol", "menu", "dir"})),
    "dt": (frozenset({"dt", "dd"}), frozenset({"dl"})),
    "dd": (frozenset({"dt", "dd"}), frozenset({"dl"})),
    "tr": (frozenset({"tr"}), frozenset({"table"})),
    "td": (frozenset({"td", "th"}), frozenset({"tr", "table"})),
    "th": (frozenset({"td", "th"}), frozenset({"tr", "table"})),
}


class HtmlPicture(NamedTuple):
    """A picture of a page: its address, its line from 1, and how many blocks of the content are before it.

    A block counts that has the picture in it.
    """

    address: str
    line: int
    before: int


@dataclass(slots=True)
class Hypertext(PageMetadata):
    """The content of a page and its metadata."""

    pictures: list[HtmlPicture] = field(default_factory=list)
    blocks: list[HtmlBlock] = field(default_factory=list)


def read_hypertext(source: str, is_xml: bool = False) -> Hypertext:
    """Reads the content of a page. With `is_xml`, `<p/>` is a complete element."""
    reader = _Reader(source, is_xml)
    reader.read()
    page = reader.page
    page.blocks = content_of(reader.blocks)
    kept = {id(block) for block in page.blocks}
    counts = [0, *accumulate(id(block) in kept for block in reader.blocks)]
    page.pictures = [each._replace(before=counts[min(each.before, len(counts) - 1)]) for each in reader.pictures]
    headings = [block.text for block in page.blocks if block.level == 1]
    if page.title is None and headings:
        page.title = " ".join(headings[0].split())
    return page


@dataclass(slots=True)
class _Element:
    name: str
    is_unread: bool
    beside: tuple[int, ...]
    is_main: bool


_PAGE = _Element("", False, (), False)
"""What is around an element that no other one is around."""


@dataclass(slots=True)
class _OpenList:
    is_ordered: bool
    count: int = 0
    is_begun: bool = False  # whether the item that is open has its mark


@dataclass(slots=True)
class _OpenTable:
    """A table that is being read: the blocks of each cell, and for each row whether it has header cells.

    `is_layout`: the table arranges the page and has no data.
    """

    rows: list[list[list[HtmlBlock]]] = field(default_factory=list)
    are_headers: list[bool] = field(default_factory=list)
    loose: list[HtmlBlock] = field(default_factory=list)
    is_layout: bool = False


class _Reader:
    """Reads one page; `blocks` gets all blocks, those beside the content marked as such."""

    def __init__(self, source: str, is_xml: bool) -> None:
        self.page = Hypertext()
        self.blocks: list[HtmlBlock] = []
        self.pictures: list[HtmlPicture] = []
        self._source, self._is_xml = source, is_xml
        self._stack: list[_Element] = []
        self._open: dict[str, int] = {}
        self._lists: list[_OpenList] = []
        self._tables: list[_OpenTable] = []
        self._pieces: list[LineText] = []
        self._is_spaced = False  # whether white space came after the last piece
        self._list: HtmlBlock | None = None
        self._language: str | None = None
        self._line, self._counted = 1, 0
        self._too_deep: dict[str, int] = {}
        self._pushed = 0
        self._linked_chars = 0

    def read(self) -> None:
        """Reads the whole source."""
        for at, token in tokens(self._source, self._is_xml):
            self._line += self._source.count("\n", self._counted, at)
            self._counted = at
            if isinstance(token, str):
                if token.startswith("<!--"):
                    self.page.take_comment(token[4:])
                else:
                    self._text(token)
            elif token.closes:
                self._close(token.name)
            else:
                self._begin(token)
        while self._stack:
            self._pop()
        self._flush()

    @property
    def _here(self) -> _Element:
        """The innermost open element."""
        return self._stack[-1] if self._stack else _PAGE

    # --- tags ---------------------------------------------------------------------------------------------------------

    def _begin(self, tag: Tag) -> None:
        name = tag.name
        if name in ("meta", "link", "html", "time"):
            self.page.take_element(name, attributes_of(tag.attributes))
        if name == "br":
            self._is_spaced = True
        if name in ("img", "image"):
            self._picture(tag)
        if self._open.get("head") and name not in _OF_HEAD and self._here.name == "head":
            self._pop()
        if name in BLOCKS:
            if self._open.get("p"):
                self._close_up_to(frozenset({"p"}), frozenset({"table", "td", "th", "li", "button", "object"}))
            if name in _CLOSED_BY:
                self._close_up_to(*_CLOSED_BY[name])
            self._flush()
        if name in _VOID or tag.is_whole:
            return
        if len(self._stack) >= _MOST_DEPTH:
            self._too_deep[name] = self._too_deep.get(name, 0) + 1
            return
        self._push(name, tag.attributes)
        if name in ("ul", "ol", "menu", "dir"):
            self._lists.append(_OpenList(name == "ol"))
        elif name == "li" and self._lists:
            self._lists[-1].count += 1
            self._lists[-1].is_begun = False
        elif name == "pre" or (name == "code" and self._open.get("pre") and self._language is None):
            language = _LANGUAGE_CLASS.search(attributes_of(tag.attributes).get("class", ""))
            self._language = language[1] if language else None
        elif (name in _HEADINGS or name == "table") and self._tables:
            self._tables[-1].is_layout = True
        if name in _HEADINGS or name in ("pre", "table"):
            self._list = None
        if name == "table":
            self._tables.append(_OpenTable())
        elif name == "tr" and self._tables:
            self._tables[-1].rows.append([])
            self._tables[-1].are_headers.append(True)
        elif name in ("td", "th") and self._tables and self._tables[-1].rows:
            self._list = None
            self._tables[-1].rows[-1].append([])
            self._tables[-1].are_headers[-1] &= name == "th"

    def _picture(self, tag: Tag) -> None:
        """Notes a picture of the content; those in banners, and hidden ones, are left out."""
        here = self._here
        address = _SOURCE.search(tag.attributes)
        if address and not here.beside and not (here.is_unread and tag.name == "img"):
            is_in_block = bool(self._pieces or self._tables)
            written = html.unescape(next(filter(None, address.groups()), ""))
            self.pictures.append(HtmlPicture(written, self._line, len(self.blocks) + is_in_block))

    def _push(self, name: str, written: str) -> None:
        above = self._here
        attributes = attributes_of(written) if written.strip() else {}
        main = ("main", "article")
        is_main = above.is_main or name in main or attributes.get("role", "").lower() in main
        self._pushed += 1
        is_marked = is_beside(name, attributes, is_main)
        beside = (*above.beside, self._pushed)[-_MOST_BESIDE_DEPTH:] if is_marked else above.beside
        self._stack.append(_Element(name, above.is_unread or name in _UNREAD, beside, is_main))
        self._open[name] = self._open.get(name, 0) + 1

    def _close(self, name: str) -> None:
        if self._too_deep.get(name):
            self._too_deep[name] -= 1
            self._flush()
        elif self._open.get(name):
            while self._stack[-1].name != name:
                self._pop()
            self._pop()
        elif name in BLOCKS:
            self._flush()

    def _close_up_to(self, names: frozenset[str], bounds: frozenset[str]) -> None:
        """Closes the innermost open element with one of these names, unless a bounding element is open inside it."""
        for element in reversed(self._stack):
            if element.name in names:
                self._close(element.name)
                return
            if element.name in bounds:
                return

    def _pop(self) -> None:
        name = self._stack[-1].name
        if name in BLOCKS:
            self._flush()
        self._stack.pop()
        self._open[name] -= 1
        if name in ("ul", "ol", "menu", "dir") and self._lists:
            self._lists.pop()
            if not self._lists:
                self._list = None
        elif name == "table" and self._tables:
            self._list = None
            self._add_table(self._tables.pop())
        elif name == "pre":
            self._language = None

    # --- text ---------------------------------------------------------------------------------------------------------

    def _text(self, written: str) -> None:
        name = self._here.name
        if name == "title" and self.page.title is None and not self._open.get("svg"):
            self.page.title = " ".join(html.unescape(written).split()) or None
        if name == "script":
            self.page.take_linked_data(written)
        if self._here.is_unread:
            return
        is_pre = bool(self._open.get("pre"))
        for number, line in enumerate(written.split("\n")):
            plain = _UNSEEN.sub("", html.unescape(_ENTITY_LINES.sub(" ", line)).replace("\n", " "))
            if is_pre:
                if plain:
                    self._add(self._line + number, plain, is_pre=True)
                continue
            spaced = _SPACES.sub(" ", plain)
            self._is_spaced |= number > 0 or spaced.startswith(" ")
            if shown := spaced.strip(" "):
                self._add(self._line + number, shown)
                self._is_spaced = spaced.endswith(" ")

    def _add(self, line: int, text: str, is_pre: bool = False) -> None:
        """Adds text to the current block, to its last piece if that is on the same line."""
        if self._open.get("a"):
            self._linked_chars += len(text)
        if self._pieces and self._pieces[-1].line == line:
            between = " " if self._is_spaced and not is_pre else ""
            self._pieces[-1] = LineText(line, self._pieces[-1].text + between + text)
        else:
            self._pieces.append(LineText(line, text))
        self._is_spaced = False

    # --- blocks -------------------------------------------------------------------------------------------------------

    def _flush(self) -> None:
        """Ends the current block."""
        pieces = [LineText(line, text.rstrip()) for line, text in self._pieces if text.strip()]
        linked_chars, self._pieces, self._is_spaced, self._linked_chars = self._linked_chars, [], False, 0
        if not pieces:
            return
        here = self._here
        block = HtmlBlock("paragraph", pieces, 0, None, (), (), here.beside, here.is_main, linked_chars)
        heading = next((each.name for each in reversed(self._stack[-8:]) if each.name in _HEADINGS), None)
        if self._open.get("pre"):
            block.kind, block.language = "code", self._language
        elif heading is not None:
            block.kind, block.level, block.last_line = "heading", _HEADINGS[heading], pieces[-1].line
            block.pieces = [LineText(pieces[0].line, " ".join(piece.text for piece in pieces).rstrip("¶# "))]
        elif self._lists and self._open.get("li"):
            self._add_item(block)
            return
        elif self._open.get("blockquote"):
            block.kind = "quote"
        self._place(block)

    def _add_item(self, block: HtmlBlock) -> None:
        """Adds a block's text to the open list."""
        inner = self._lists[-1]
        if self._list is None:
            self._list = HtmlBlock("list", [], beside=block.beside, is_main=block.is_main)
            self._place(self._list)
        self._list.linked_chars += block.linked_chars
        mark = f"{inner.count}. " if inner.is_ordered else "- "
        mark = " " * len(mark) if inner.is_begun else mark
        indent = "  " * min(len(self._lists) - 1, 8)
        first, *rest = block.pieces
        self._list.pieces.append(LineText(first.line, indent + mark + first.text))
        self._list.pieces += (LineText(piece.line, indent + " " * len(mark) + piece.text) for piece in rest)
        inner.is_begun = True

    def _place(self, block: HtmlBlock) -> None:
        """Puts a block into the open cell, or into the page."""
        if not self._tables:
            self.blocks.append(block)
            return
        table = self._tables[-1]
        table.is_layout |= block.kind in ("list", "code", "heading", "table")
        if table.rows and table.rows[-1]:
            table.rows[-1][-1].append(block)
        else:
            table.loose.append(block)

    def _add_table(self, table: _OpenTable) -> None:
        """Adds a data table as one block, and a layout table as its cells' blocks."""
        for block in table.loose:
            self._place(block)
        filled = [at for at, row in enumerate(table.rows) if any(row)]
        inside = [block for row in table.rows for cell in row for block in cell]
        if table.is_layout or len(filled) < 2 or max(len(table.rows[at]) for at in filled) < 2:
            for block in inside:
                self._place(block)
            return
        rows = [tuple(" ".join(" ".join(b.text.split()) for b in cell) for cell in table.rows[at]) for at in filled]
        has_headers = table.are_headers[filled[0]]
        pieces = []
        for number, (at, row) in enumerate(zip(filled, rows, strict=True)):
            line = min(block.pieces[0].line for cell in table.rows[at] for block in cell)
            pieces.append(LineText(line, f"| {' | '.join(row)} |"))
            following = table.rows[filled[1]] if number == 0 else []
            if has_headers and following and min(b.pieces[0].line for c in following for b in c) > line + 1:
                pieces.append(LineText(line + 1, "|" + " --- |" * len(row)))
        beside, main = inside[0].beside, inside[0].is_main
        headers, body = (rows[0], rows[1:]) if has_headers else ((), rows)
        read = HtmlBlock("table", pieces, headers=headers, rows=tuple(body), beside=beside, is_main=main)
        read.last_line = max(block.pieces[-1].line for block in inside)
        self._place(read)
