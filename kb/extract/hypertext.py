"""HTML → blocks of readable text, each piece with its line in the source: for web pages and for formats made of HTML.

text → tags and text (`_tokens`) → elements → pieces of blocks → blocks that are content

Markup is parsed as browsers do, without an engine: nothing is fetched, and scripts and entity declarations are ignored.
Navigation, footers, banners and hidden elements are left out, unless hardly anything else exists or they contain much
of the text. If a page marks its main part, everything else is left out, as are links and labels around running text.
Measured on 989 web pages: benchmarks/RESULTS.md. Time and memory grow linearly with the source.
"""

from __future__ import annotations

import html
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NamedTuple

from kb.domain.documents import BlockKind
from kb.extract.markdown.frontmatter import timestamp

_MOST_DEPTH = 400
_ATTRIBUTE_CHARS = 4_000
_MOST_JSON_CHARS = 200_000

# Each tag whose quotation mark is never closed costs a look at the rest of the page.
_MOST_UNCLOSED = 50

# Less content than this, and at most this share of all text, means that the marks of content are not to be trusted.
_LEAST_CHARS, _LEAST_SHARE, _LEAST_MAIN = 200, 0.25, 0.35

# Running text has at least so many characters, and this share of them at most in links; it makes up at least so much of
# a page whose links and labels are left out. A line that is no sentence is shorter than `_LINE_CHARS`.
_RUNNING_CHARS, _MOST_LINKED, _LEAST_RUNNING, _LEAST_RUNNING_SHARE, _LINE_CHARS = 80, 0.3, 500, 0.5, 80
_LINKS_AROUND, _LINKS_WITHIN = 0.6, 0.9
_SENTENCE_END = re.compile(r"[.!?…。:;\"”»」)\]]\s*$")

# An element with this share of all text is content, however it is marked.
_MOST_BESIDE, _MOST_BESIDE_DEPTH = 0.3, 20

_TAG = re.compile(r"<(/?)([A-Za-z][^\s/>]*+)((?:[^>\"']|\"[^\"]*\"|'[^']*')*+)>")
_TAG_UNQUOTED = re.compile(r"<(/?)([A-Za-z][^\s/>]*+)([^>]*+)>")
_ATTRIBUTE = re.compile(r"([^\s=/\"'>]+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+)))?")
_SOURCE = re.compile(r"(?:^|\s)(?:src|xlink:href|href)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE)
_SPACES = re.compile(r"[ \t\r\f\v\0\xa0\u2000-\u200a\u3000]+")
_UNSEEN = re.compile("[\u00ad\u200b\u2060\ufeff]")
_ENTITY_LINES = re.compile(r"&(?:#0*1[03]|#[xX]0*[aAdD]|NewLine);")
_SAVED_FROM = re.compile(r"\s*(?:saved from url=\(\d+\)|Page saved with SingleFile\s+url:\s*)(\S+)")
_LANGUAGE_CLASS = re.compile(r"(?:^|\s)(?:language|lang|highlight-source|highlight|brush:|sourceCode)[-\s]([\w+#.-]+)")

_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?![A-Za-z])")

_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
_RAW = frozenset("script style textarea title xmp iframe noembed noframes noscript".split())
_OF_HEAD = frozenset("base link meta noscript script style template title".split())
_UNREAD = _RAW | frozenset("head template svg math object canvas audio video button select rt rp datalist map".split())
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = (
    frozenset(
        (
            "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption "
            "figure footer form header hgroup hr legend li main menu nav ol p pre section summary table tbody td tfoot "
            "th thead tr ul"
        ).split()
    )
    | _HEADINGS.keys()
)

# An open element that a sibling closes, up to the element that bounds it.
_CLOSED_BY: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "li": (frozenset({"li"}), frozenset({"ul", "ol", "menu", "dir"})),
    "dt": (frozenset({"dt", "dd"}), frozenset({"dl"})),
    "dd": (frozenset({"dt", "dd"}), frozenset({"dl"})),
    "tr": (frozenset({"tr"}), frozenset({"table"})),
    "td": (frozenset({"td", "th"}), frozenset({"tr", "table"})),
    "th": (frozenset({"td", "th"}), frozenset({"tr", "table"})),
}

# What is beside the content, by element, by role, and by a word of its class or id.
_BESIDE = frozenset({"nav", "footer", "dialog"})
_BESIDE_ROLES = frozenset("navigation banner contentinfo complementary search dialog alertdialog menu menubar".split())
_BESIDE_CLASS = re.compile(
    r"(?:^|[\s_-])(?:cookies?|consent|gdpr|banner|sidebar|breadcrumbs?|share|sharing|social|newsletter|advert\w*|ads?|popup"
    r"|modal|pagination|navbar|nav|menu|masthead|skip|toolbar|footer|headerlink|related|respond|comment-?form|subscribe"
    r"|signup|login|promo|sponsored|recommendations?|recommended|trending|popular)(?=$|[\s_-])",
    re.IGNORECASE,
)
_JUDGED_BY_CLASS = frozenset("div section ul ol p span a table aside header form".split())


class Piece(NamedTuple):
    """Text on one line of the source; `line` counts from 1."""

    line: int
    text: str


@dataclass(slots=True)
class HtmlBlock:
    """A block: its pieces in order. For a table, `rows` are its cells, and the piece gives its first line.

    `level` is the level of a heading. `beside` are the open elements that look like navigation and the like, outermost
    first; `is_main`: the page marks the block as content. `linked_chars` counts the characters of its text that are
    links. `last_line` is the last line of the source that a row or heading on one line is from; 0: that of its piece.
    """

    kind: BlockKind
    pieces: list[Piece]
    level: int = 0
    language: str | None = None
    headers: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    beside: tuple[int, ...] = ()
    is_main: bool = False
    linked_chars: int = 0
    last_line: int = 0

    @property
    def text(self) -> str:
        """The text of the block, with the line ends of the source."""
        lines: list[str] = []
        for before, piece in zip((None, *self.pieces), self.pieces, strict=False):
            if before is not None and before.line == piece.line:
                lines[-1] += " " + piece.text
            else:
                lines.append(piece.text)
        return "\n".join(lines)


class HtmlPicture(NamedTuple):
    """A picture of a page: its address, its line from 1, and how many blocks of the content are before it.

    A block counts that has the picture in it.
    """

    address: str
    line: int
    before: int


@dataclass(slots=True)
class Hypertext:
    """The content of a page and its metadata. `date` is RFC 3339; `address` is where the page came from."""

    pictures: list[HtmlPicture] = field(default_factory=list)
    blocks: list[HtmlBlock] = field(default_factory=list)
    title: str | None = None
    author: str | None = None
    date: str | None = None
    address: str | None = None
    language: str | None = None


def read_hypertext(source: str, is_xml: bool = False) -> Hypertext:
    """Reads the content of a page. With `is_xml`, `<p/>` is a complete element."""
    reader = _Reader(source, is_xml)
    reader.read()
    page = reader.page
    page.blocks = _content(reader.blocks)
    kept = {id(block) for block in page.blocks}
    counts = [0, *accumulate(id(block) in kept for block in reader.blocks)]
    page.pictures = [each._replace(before=counts[min(each.before, len(counts) - 1)]) for each in reader.pictures]
    headings = [block.text for block in page.blocks if block.level == 1]
    if page.title is None and headings:
        page.title = " ".join(headings[0].split())
    return page


def _content(blocks: Sequence[HtmlBlock]) -> list[HtmlBlock]:
    """The blocks without those beside the content; all blocks if too little would be left."""
    total = _chars(blocks)
    inside: defaultdict[int, int] = defaultdict(int)
    for block in blocks:
        for element in block.beside:
            inside[element] += _chars([block])
    # What holds much of a page is no banner, whatever it is called.
    beside = {element for element, chars in inside.items() if chars < total * _MOST_BESIDE}
    kept = [block for block in blocks if beside.isdisjoint(block.beside)]
    if _chars(kept) < min(_LEAST_CHARS, total * _LEAST_SHARE):
        return list(blocks)
    main = [block for block in kept if block.is_main]
    return _trimmed(main if _chars(main) >= max(_LEAST_CHARS, _chars(kept) * _LEAST_MAIN) else kept)


def _trimmed(blocks: list[HtmlBlock]) -> list[HtmlBlock]:
    """The blocks without links and labels around running text; all of them unless running text, code or tables are the
    most.

    Left out are link blocks around the text, lines of only links inside it, lines after it that are no sentence, and
    headings with nothing below them that come after it or are links.
    """
    solid = [at for at, each in enumerate(blocks) if each.kind in ("code", "table") or _is_running(each)]
    if not solid or sum(_chars([blocks[at]]) for at in solid) < max(
        _LEAST_RUNNING, _chars(blocks) * _LEAST_RUNNING_SHARE
    ):
        return blocks
    first, last = solid[0], solid[-1]
    kept: list[HtmlBlock] = []
    for at in range(len(blocks) - 1, -1, -1):
        block = blocks[at]
        chars = _chars([block])
        links = block.linked_chars / max(1, chars)
        if block.kind == "heading":
            has_below = bool(kept) and (kept[-1].kind != "heading" or kept[-1].level > block.level)
            is_left_out = not has_below and (at > last or links > _LINKS_AROUND)
        elif first <= at <= last:
            is_left_out = links > _LINKS_WITHIN and block.kind == "paragraph" and chars < _LINE_CHARS
        else:
            is_label = at > last and block.kind == "paragraph" and chars < _LINE_CHARS
            is_left_out = links > _LINKS_AROUND or (is_label and not _SENTENCE_END.search(block.text))
        if not is_left_out:
            kept.append(block)
    return kept[::-1]


def _is_running(block: HtmlBlock) -> bool:
    chars = _chars([block])
    return block.kind != "heading" and chars >= _RUNNING_CHARS and block.linked_chars < chars * _MOST_LINKED


def _chars(blocks: Sequence[HtmlBlock]) -> int:
    return sum(len(piece.text) for block in blocks for piece in block.pieces)


class _Tag(NamedTuple):
    name: str
    attributes: str
    closes: bool
    is_whole: bool


_Token = tuple[int, _Tag | str]
"""Where it begins, and a tag, or text with its entities; of a comment, `<!--` and its text."""


def _tokens(source: str, is_xml: bool) -> Iterator[_Token]:
    """The tags, text and comments of a page, in order. After many unclosed quotes, `>` ends a tag in quotes too."""
    at, end, unclosed, drawings = 0, len(source), 0, 0
    while at < end:
        mark = source.find("<", at)
        if mark < 0:
            yield at, source[at:]
            return
        if mark > at:
            yield at, source[at:mark]
        if source.startswith("<!--", mark):
            close = source.find("-->", mark + 4)
            yield mark, source[mark : end if close < 0 else close]
            at = end if close < 0 else close + 3
        elif is_xml and source.startswith("<![CDATA[", mark):
            close = source.find("]]>", mark)
            close = end if close < 0 else close
            yield mark + 9, source[mark + 9 : close].replace("&", "&amp;")
            at = close + 3
        elif source[mark + 1 : mark + 2] in ("!", "?"):
            close = source.find(">", mark)
            at = end if close < 0 else close + 1
        elif tag := (_TAG if unclosed < _MOST_UNCLOSED else _TAG_UNQUOTED).match(source, mark):
            name, is_whole = tag[2].lower().rpartition(":")[2], (is_xml or drawings > 0) and tag[3].endswith("/")
            if name in ("svg", "math") and not is_whole:
                drawings = max(0, drawings + (-1 if tag[1] else 1))
            yield mark, _Tag(name, tag[3], bool(tag[1]), is_whole)
            at = tag.end()
            if name in _RAW and not tag[1] and not is_whole and (name != "noscript"):
                closing = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(source, at)
                stop = closing.start() if closing else end
                yield at, source[at:stop]
                at = stop
        elif source[mark + 1 : mark + 2].isalpha() or source.startswith("</", mark):
            unclosed += 1
            close = source.find(">", mark)  # a quotation mark in it is never closed
            at = end if close < 0 else close + 1
        else:
            yield mark, "<"
            at = mark + 1


def attributes_of(written: str) -> dict[str, str]:
    """The attributes of a tag, with names in lower case."""
    found: dict[str, str] = {}
    for match in _ATTRIBUTE.finditer(written[:_ATTRIBUTE_CHARS]):
        value = next((each for each in match.groups()[1:] if each is not None), "")
        found.setdefault(match[1].lower(), html.unescape(value))
    return found


@dataclass(slots=True)
class _Element:
    name: str
    is_unread: bool
    beside: tuple[int, ...]
    is_main: bool


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
        self._pieces: list[Piece] = []
        self._is_spaced = False  # whether white space came after the last piece
        self._list: HtmlBlock | None = None
        self._language: str | None = None
        self._line, self._counted = 1, 0
        self._too_deep: dict[str, int] = {}
        self._pushed = 0
        self._linked_chars = 0

    def read(self) -> None:
        """Reads the whole source."""
        for at, token in _tokens(self._source, self._is_xml):
            self._line += self._source.count("\n", self._counted, at)
            self._counted = at
            if isinstance(token, str):
                if token.startswith("<!--"):
                    self._comment(token[4:])
                else:
                    self._text(token)
            elif token.closes:
                self._close(token.name)
            else:
                self._begin(token)
        while self._stack:
            self._pop()
        self._flush()

    # --- tags ---------------------------------------------------------------------------------------------------------

    def _begin(self, tag: _Tag) -> None:
        name = tag.name
        if name in ("meta", "link", "html", "time"):
            self._tell(name, attributes_of(tag.attributes))
        if name == "br":
            self._is_spaced = True
        if name in ("img", "image"):
            self._picture(tag)
        if self._open.get("head") and name not in _OF_HEAD and self._stack[-1].name == "head":
            self._pop()
        if name in _BLOCKS:
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
        elif name == "pre":
            self._end_list()
            language = _LANGUAGE_CLASS.search(attributes_of(tag.attributes).get("class", ""))
            self._language = language[1] if language else None
        elif name == "code" and self._open.get("pre") and self._language is None:
            language = _LANGUAGE_CLASS.search(attributes_of(tag.attributes).get("class", ""))
            self._language = language[1] if language else None
        elif name in _HEADINGS:
            self._end_list()
            if self._tables:
                self._tables[-1].is_layout = True
        elif name == "table":
            self._end_list()
            if self._tables:
                self._tables[-1].is_layout = True
            self._tables.append(_OpenTable())
        elif name == "tr" and self._tables:
            self._tables[-1].rows.append([])
            self._tables[-1].are_headers.append(True)
        elif name in ("td", "th") and self._tables and self._tables[-1].rows:
            self._end_list()
            self._tables[-1].rows[-1].append([])
            self._tables[-1].are_headers[-1] &= name == "th"

    def _picture(self, tag: _Tag) -> None:
        """Notes a picture of the content; those in banners, and hidden ones, are left out."""
        here = self._stack[-1] if self._stack else _Element("", False, (), False)
        address = _SOURCE.search(tag.attributes)
        if address and not here.beside and not (here.is_unread and tag.name == "img"):
            is_in_block = bool(self._pieces or self._tables)
            written = html.unescape(next(filter(None, address.groups()), ""))
            self.pictures.append(HtmlPicture(written, self._line, len(self.blocks) + is_in_block))

    def _push(self, name: str, written: str) -> None:
        above = self._stack[-1] if self._stack else _Element("", False, (), False)
        attributes = attributes_of(written) if written.strip() else {}
        role = attributes.get("role", "").lower()
        is_main = above.is_main or name in ("main", "article") or role in ("main", "article")
        is_beside = (
            name in _BESIDE
            or role in _BESIDE_ROLES
            or (name == "aside" and not is_main)
            or "hidden" in attributes
            or attributes.get("aria-hidden") == "true"
            or "display:none" in attributes.get("style", "").replace(" ", "")
        )
        if not is_beside and name in _JUDGED_BY_CLASS:
            is_beside = bool(_BESIDE_CLASS.search(f"{attributes.get('class', '')} {attributes.get('id', '')}"))
        self._pushed += 1
        beside = (*above.beside, self._pushed)[-_MOST_BESIDE_DEPTH:] if is_beside else above.beside
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
        elif name in _BLOCKS:
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
        if name in _BLOCKS:
            self._flush()
        self._stack.pop()
        self._open[name] -= 1
        if name in ("ul", "ol", "menu", "dir") and self._lists:
            self._lists.pop()
            if not self._lists:
                self._end_list()
        elif name == "table" and self._tables:
            self._end_list()
            self._add_table(self._tables.pop())
        elif name == "pre":
            self._language = None

    # --- text ---------------------------------------------------------------------------------------------------------

    def _text(self, written: str) -> None:
        name = self._stack[-1].name if self._stack else ""
        if name == "title" and self.page.title is None and not self._open.get("svg"):
            self.page.title = " ".join(html.unescape(written).split()) or None
        if name == "script" and '"@context"' in written[:_MOST_JSON_CHARS] and len(written) <= _MOST_JSON_CHARS:
            self._linked_data(written)
        if self._stack and self._stack[-1].is_unread:
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
            self._pieces[-1] = Piece(line, self._pieces[-1].text + between + text)
        else:
            self._pieces.append(Piece(line, text))
        self._is_spaced = False

    def _comment(self, text: str) -> None:
        if saved := _SAVED_FROM.match(text):
            self.page.address = self.page.address or saved[1]

    # --- blocks -------------------------------------------------------------------------------------------------------

    def _flush(self) -> None:
        """Ends the current block."""
        pieces = [Piece(line, text.rstrip()) for line, text in self._pieces if text.strip()]
        linked_chars, self._pieces, self._is_spaced, self._linked_chars = self._linked_chars, [], False, 0
        if not pieces:
            return
        here = self._stack[-1] if self._stack else _Element("", False, (), False)
        block = HtmlBlock("paragraph", pieces, 0, None, (), (), here.beside, here.is_main, linked_chars)
        heading = next((each.name for each in reversed(self._stack[-8:]) if each.name in _HEADINGS), None)
        if self._open.get("pre"):
            block.kind, block.language = "code", self._language
        elif heading is not None:
            block.kind, block.level, block.last_line = "heading", _HEADINGS[heading], pieces[-1].line
            block.pieces = [Piece(pieces[0].line, " ".join(piece.text for piece in pieces).rstrip("¶# "))]
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
        self._list.pieces.append(Piece(first.line, indent + mark + first.text))
        self._list.pieces += (Piece(piece.line, indent + " " * len(mark) + piece.text) for piece in rest)
        inner.is_begun = True

    def _end_list(self) -> None:
        self._list = None

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
            pieces.append(Piece(line, f"| {' | '.join(row)} |"))
            following = table.rows[filled[1]] if number == 0 else []
            if has_headers and following and min(b.pieces[0].line for c in following for b in c) > line + 1:
                pieces.append(Piece(line + 1, "|" + " --- |" * len(row)))
        beside, main = inside[0].beside, inside[0].is_main
        headers, body = (rows[0], rows[1:]) if has_headers else ((), rows)
        read = HtmlBlock("table", pieces, headers=headers, rows=tuple(body), beside=beside, is_main=main)
        read.last_line = max(block.pieces[-1].line for block in inside)
        self._place(read)

    # --- what the page says of itself ---------------------------------------------------------------------------------

    def _tell(self, name: str, attributes: Mapping[str, str]) -> None:
        page, content = self.page, " ".join(attributes.get("content", "").split())
        said = (attributes.get("name") or attributes.get("property") or attributes.get("itemprop") or "").lower()
        if name == "html":
            language = _LANGUAGE.match(attributes.get("lang") or attributes.get("xml:lang") or "")
            page.language = language[0].lower() if language else None
        elif name == "link" and "canonical" in attributes.get("rel", "").lower().split():
            page.address = attributes.get("href") or page.address
        elif name == "time" and "pubdate" in attributes:
            page.date = page.date or timestamp(attributes.get("datetime", ""))
        elif said in ("author", "article:author", "dc.creator", "dcterms.creator", "citation_author"):
            if content and "://" not in content:
                page.author = page.author or content
        elif said in (
            "article:published_time",
            "date",
            "dc.date",
            "dcterms.date",
            "dcterms.created",
            "datepublished",
            "pubdate",
        ):
            page.date = page.date or timestamp(content)
        elif said == "og:title":
            page.title = content or page.title
        elif said == "og:url":
            page.address = page.address or content or None

    def _linked_data(self, written: str) -> None:
        """Reads author and date from JSON-LD (schema.org)."""
        try:
            value = json.loads(written)
        except (ValueError, RecursionError):
            return
        graph = value.get("@graph", value) if isinstance(value, dict) else value
        for each in graph if isinstance(graph, list) else [graph]:
            if isinstance(each, dict) and isinstance(each.get("datePublished"), str):
                self.page.date = self.page.date or timestamp(each["datePublished"])
                self.page.author = self.page.author or _person(each.get("author"))


def _person(value: Any) -> str | None:
    value = value[0] if isinstance(value, list) and value else value
    name = value.get("name") if isinstance(value, dict) else value
    return " ".join(name.split()) or None if isinstance(name, str) else None
