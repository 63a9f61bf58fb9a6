"""Rich Text Format (Microsoft, 1.9): paragraphs with their headings and list marks, rows of tables, notes, comments.

Embedded objects, codes of fields, deleted and hidden text, page headers and footers are not read.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from kb.errors import ExtractFailed, FileTooLarge
from kb.extract.office.flow import Flow
from kb.extract.office.numbering import BULLET
from kb.extract.parts import PartBlockKind, Parts, ReadPicture

_MOST_GROUPS = 512

# How much may be before the bytes of a picture in its group.
_BEFORE_PICTURE = 4_096

# A control word with its number, a byte, another control, the edge of a group, or text.
_TOKEN = re.compile(
    rb"\\(?:(?P<word>[A-Za-z]{1,32})(?P<number>-?\d{1,9})? ?|'(?P<byte>[0-9a-fA-F]{2})|(?P<sign>.))"
    rb"|(?P<edge>[{}])|(?P<text>[^\\{}]+)",
    re.DOTALL,
)

# Where the text of a group goes, by the word it begins with; other groups that begin with `\*` are not read.
_INTO = frozenset(
    """footnote annotation listtext title author shptxt fonttbl stylesheet shpinst atnauthor fldrslt pntext
    sp""".split()
)
_NOT_READ = frozenset(
    """colortbl listtable listoverridetable rsidtbl generator pict object fldinst themedata datastore header headerl
    headerr headerf footer footerl footerr footerf ftnsep ftnsepc ftncn aftnsep aftnsepc aftncn nonshppict shprslt do
    colorschememapping latentstyles xmlnstbl nonesttables filetbl revtbl atnid atnref atndate atntime atnparent
    atrfstart atrfend bkmkstart bkmkend pgdsctbl operator company subject keywords doccomm category manager hlinkbase
    creatim revtim printim buptim""".split()
)
_SIGNS = {
    "tab": "\t",
    "line": "\n",
    "emdash": "—",
    "endash": "–",
    "lquote": "‘",
    "rquote": "’",
    "ldblquote": "“",
    "rdblquote": "”",
    "bullet": "•",
    "emspace": " ",
    "enspace": " ",
    "qmspace": " ",
    "~": " ",
    "_": "-",
}
_SIGNS |= {sign: sign for sign in "\\{}"}
_CHARSETS = {128: "cp932", 129: "cp949", 130: "johab", 134: "gbk", 136: "big5", 161: "cp1253", 162: "cp1254"}
_CHARSETS |= {177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874", 238: "cp1250"}
_HEADING = re.compile(r"heading ([1-9]);?", re.IGNORECASE)

# What is in the group of a picture besides its bytes in hexadecimal digits, which follow all groups in it.
_NOT_HEX = re.compile(rb"\\[A-Za-z]+-?\d* ?|[^0-9A-Fa-f]+")
_BINARY = re.compile(rb"\\bin(\d{1,9}) ?")


@dataclass(slots=True)
class _Group:
    """The state inside braces: where text goes (None: it is dropped), its encoding, how many characters a `\\u`
    replaces, and where a picture begins.
    """

    into: str | None = "body"
    encoding: str = ""
    is_hidden: bool = False
    replaced: int = 1
    picture_at: int = -1


def read_rtf(data: bytes) -> Parts:
    """The parts of an .rtf file. Raises: ExtractFailed, FileTooLarge."""
    if not data.lstrip().startswith(b"{\\rtf"):
        raise ExtractFailed("not an RTF file, though it is named like one", "open it in its program and save it again")
    reader = _Reader(Flow(partial(_picture_at, data)))
    reader.read(data)
    title, author = reader.taken("title"), reader.taken("author")
    return Parts(reader.flow.parts, title=title, author=author, found=tuple(reader.flow.pictures))


def _picture_at(data: bytes, place: str) -> ReadPicture:
    """What reads the picture between two places, `120:4800`."""
    start, _, end = place.partition(":")
    return partial(_picture_bytes, data, int(start), int(end))


def _picture_bytes(data: bytes, start: int, end: int, most_bytes: int) -> bytes:
    if binary := _BINARY.search(data, start, end):
        return data[binary.end() : min(binary.end() + int(binary[1]), end)][:most_bytes]
    start = max(start, data.rfind(b"}", start, end) + 1)
    digits = _NOT_HEX.sub(b"", data[start : min(end, start + 4 * most_bytes + _BEFORE_PICTURE)])[: 2 * most_bytes]
    return bytes.fromhex(digits[: len(digits) // 2 * 2].decode())


@dataclass(slots=True)
class _Reader:
    """Reads the tokens of a file in order. `texts` are the collected pieces by the name of the place they belong to."""

    flow: Flow
    texts: dict[str, list[str]] = field(default_factory=dict)
    group: _Group = field(default_factory=_Group)
    codepage: str = "cp1252"
    encodings: dict[int, str] = field(default_factory=dict)
    levels: dict[int, int] = field(default_factory=dict)
    font: int = 0
    style: int = 0
    level: int = 0
    in_table: bool = False
    table: list[list[str]] = field(default_factory=list)
    row: list[str] = field(default_factory=list)
    pending: bytearray = field(default_factory=bytearray)
    replacing: int = 0
    pictures: list[str] = field(default_factory=list)
    table_pictures: list[list[str]] = field(default_factory=list)

    def read(self, data: bytes) -> None:
        """Reads a whole file."""
        groups: list[_Group] = []
        at, starts, is_starred = 0, False, False
        while (token := _TOKEN.match(data, at)) is not None:
            at = token.end()
            if token["edge"] == b"{":
                self._flush()
                if len(groups) == _MOST_GROUPS:
                    raise FileTooLarge("its groups have too many levels", "open it in its program and save it again")
                groups.append(self.group)
                self.group = replace(self.group, picture_at=-1)
                starts, is_starred = True, False
                continue
            if token["edge"]:
                self._flush()
                inner, self.group = self.group, groups.pop() if groups else _Group()
                if inner.picture_at >= 0:
                    self.pictures.append(f"{inner.picture_at}:{token.start()}")
                if inner.into != self.group.into:
                    self._leave(inner.into)
            elif token["word"]:
                self._flush()
                word, number = token["word"].decode(), int(token["number"] or -1)
                if word == "bin":
                    at += max(number, 0)
                elif starts and word == "shppict":
                    pass  # the picture that is in it is read
                elif starts and ((is_starred and word not in _INTO) or word in _NOT_READ):
                    if word == "pict" and self.group.into is not None and not self.group.is_hidden:
                        self.group.picture_at = at
                    self.group.into = None
                elif word in _INTO:
                    self.group.into = self.group.into and _destination(word, self.group.into)
                elif self.group.into is not None:
                    self._word(word, number, token["number"] is not None)
            elif token["sign"] == b"*" and starts:
                is_starred = True
                continue
            elif token["sign"]:
                self._flush()
                self._say("\n" if token["sign"] in b"\r\n" else _SIGNS.get(token["sign"].decode("latin-1"), ""))
            else:
                byte = token["byte"]
                self._bytes(bytes.fromhex(byte.decode()) if byte else token["text"].translate(None, b"\r\n"))
            starts = False
        self._flush()
        self._end_paragraph()
        self._end_table()

    def taken(self, name: str) -> str:
        """The text collected under that name, on one line."""
        return " ".join("".join(self.texts.pop(name, [])).split())

    def _say(self, text: str) -> None:
        if self.group.into is not None and not self.group.is_hidden:
            self.texts.setdefault(self.group.into, []).append(text)

    def _bytes(self, data: bytes) -> None:
        """Adds text bytes; after a `\\u`, skips the characters that replace it in older readers."""
        passed = min(self.replacing, len(data))
        self.replacing -= passed
        self.pending += data[passed:]

    def _flush(self) -> None:
        if self.pending:
            self._say(self.pending.decode(self.group.encoding or self.codepage, "replace"))
            self.pending.clear()

    def _word(self, word: str, number: int, has_number: bool) -> None:
        into = self.group.into
        if word == "u":
            self._say(chr(number & 0xFFFF))
            self.replacing = self.group.replaced
        elif word == "uc":
            self.group.replaced = max(number, 0)
        elif word in _SIGNS:
            self._say(_SIGNS[word])
        elif word in ("v", "deleted"):
            self.group.is_hidden = number != 0
        elif word == "plain":
            self.group.is_hidden = False
        elif word == "ansicpg":
            self.codepage = _known(f"cp{number}") or self.codepage
        elif word == "f":
            self.font = number
            self.group.encoding = self.encodings.get(number, "")
        elif word == "fcharset" and into == "fonttbl":
            self.encodings[self.font] = _CHARSETS.get(number, "")
        elif into == "stylesheet":
            self._of_style(word, number)
        elif into == "body" or (into == "footnote" and word == "par"):
            self._of_body(word, number)

    def _of_style(self, word: str, number: int) -> None:
        if word == "s":
            self._end_style()
            self.style = number
        elif word == "outlinelevel" and 0 <= number < 9:
            self.levels[self.style] = number + 1

    def _end_style(self) -> None:
        if (named := _HEADING.fullmatch(self.taken("stylesheet"))) is not None:
            self.levels[self.style] = int(named[1])

    def _of_body(self, word: str, number: int) -> None:
        ends: Mapping[str, Callable[[], None]] = {
            **dict.fromkeys(("par", "sect", "page"), self._end_paragraph),
            **dict.fromkeys(("cell", "nestcell"), self._end_cell),
            "row": self._end_row,
        }
        if self.group.into == "footnote":
            self._say(" ")
        elif word in ends:
            ends[word]()
        elif word == "pard":
            self.level, self.in_table = 0, False
        elif word == "s":
            self.level = self.levels.get(number, 0)
        elif word == "outlinelevel":
            self.level = number + 1 if 0 <= number < 9 else 0
        elif word == "intbl":
            self.in_table = True

    def _leave(self, into: str | None) -> None:
        """Ends a group whose text went to another place than that of the group around it."""
        if into == "footnote":
            self.flow.add_note("note", self.taken(into))
        elif into == "annotation":
            author = self.taken("atnauthor")
            text = self.taken(into)
            self.flow.add_note("comment", f"{author}: {text}" if author and text else text)
        elif into == "stylesheet":
            self._end_style()
        elif into == "sp":  # a property of a shape, which may be a picture
            self.texts.pop(into, None)
        elif into == "shptxt":
            self.texts.setdefault("boxes", []).extend([*self.texts.pop(into, []), "\n"])

    def _end_paragraph(self) -> None:
        if self.in_table:
            self._say("\n")
            return
        mark, text = self.taken("listtext"), self._body()
        if text:
            self._end_table()
            mark = mark if not mark or any(map(str.isalnum, mark)) else BULLET
            kind: PartBlockKind = "heading" if self.level else "list" if mark else "paragraph"
            self.flow.add(kind, f"{mark} {text}", self.level)
        for box in "".join(self.texts.pop("boxes", [])).split("\n"):
            self.flow.add("paragraph", box)
        self.flow.add_pictures(self.pictures)
        self.pictures = []

    def _body(self) -> str:
        text = "".join(self.texts.pop("body", []))
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").strip()

    def _end_cell(self) -> None:
        mark = self.taken("listtext")
        self.row.append(" ".join(f"{mark} {self._body()}".split()))

    def _end_row(self) -> None:
        self.table.append(self.row)
        self.table_pictures.append(self.pictures)
        self.row, self.pictures = [], []

    def _end_table(self) -> None:
        if self.table:
            self.flow.add_table(self.table, self.table_pictures)
            self.table, self.table_pictures = [], []


def _destination(word: str, around: str) -> str:
    """The place for the text of a group that begins with this word."""
    if word in ("shpinst", "fldrslt"):
        return around
    return "listtext" if word == "pntext" else word


def _known(encoding: str) -> str:
    try:
        return codecs.lookup(encoding).name
    except LookupError:
        return ""
