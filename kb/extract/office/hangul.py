"""The step `parts` of Hangul documents, HWPX and HWP 5: sections and paragraphs, headings, rows of tables, notes.

HWPX (OWPML, KS X 6101): a ZIP of XML            ─┐ HWP 5 (Hancom's published format): OLE2 streams  ─┴▶ paragraphs of
each section, in order → Parts

Documents for distribution are encrypted but contain their key, and are read. Not read are other encrypted documents,
HWP before 5, numbers of outlines and lists, page headers and footers, and charts.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

from kb.domain.derived import Engine, ExtractSettings, Progress, StepJob
from kb.errors import ExtractFailed, FileTooLarge, PasswordNeeded, worded
from kb.extract.office.flow import Flow
from kb.extract.office.package import MOST_EXPANDED_BYTES, Package, found, moment, text_at, too_large
from kb.extract.parts import Parts, ReadPicture
from kb.extract.pictures import listed, picture_size
from kb.models.requirements import lacking_packages, require

# Bumped whenever the same file would give other parts.
_METHOD_VERSION = "2"

_HINT = "open it in its program and save it again"
_OUTLINES = ("개요 ", "Outline ")
_MOST_LEVELS = 64
_MOST_RECORDS = 2_000_000

# Tags of records (HWPTAG_BEGIN + n).
_STYLE, _PARA_SHAPE = 26, 25
_PARA_HEADER, _PARA_TEXT, _CTRL_HEADER, _LIST_HEADER, _TABLE, _EQUATION = 66, 67, 71, 72, 77, 88
_BIN_DATA, _PICTURE = 18, 85
# Of a file's kind: embedded, not linked; of a picture: where the number of its file is.
_EMBEDDED, _PICTURE_NUMBER_AT = 1, 71
_NOTES = {b"fn  ": "note", b"en  ": "note", b"tcmt": "comment"}
_NOT_READ = (b"head", b"foot")

# Of its flags: encrypted with a password; for distribution alone.
_COMPRESSED, _ENCRYPTED, _DISTRIBUTED = 1, 2, 4

# The key of a section for distribution: a record of so many bytes, behind its head.
_RECORD_HEAD, _KEY_RECORD = 4, 256

# Control characters of one unit; all other ones below 32 take eight.
_SINGLE = {0: "", 10: "\n", 13: "\n", 24: "-", 25: "", 26: "", 27: "", 28: "", 29: "", 30: " ", 31: " "}
_TAB, _CONTROL_UNITS = 9, 8

_SIGNS = {"lineBreak": "\n", "tab": "\t", "nbSpace": " ", "fwSpace": " ", "hyphen": "-"}


def engine(settings: ExtractSettings) -> Engine:
    """The engine of this step: olefile and a reader that is part of kb. Raises: ModelMissing."""
    require("Hangul documents", lacking_packages(("olefile", "cryptography"), "office"))
    return Engine("olefile", f"{version('olefile')}-{_METHOD_VERSION}")


def read(job: StepJob) -> Parts:
    """The parts with the pictures found. Raises: ExtractFailed, FileTooLarge, PasswordNeeded."""
    job.on_progress(Progress(0, 1))
    return (read_hwpx if job.media_type == "hangul/hwpx" else read_hwp)(job.data)


def derive(job: StepJob) -> bytes:
    """The parts as JSON. Raises: ExtractFailed, FileTooLarge, PasswordNeeded."""
    return listed(read(job), job)


def read_hwpx(data: bytes) -> Parts:
    """The parts of an .hwpx file. Raises: ExtractFailed, FileTooLarge."""
    package = Package(data)
    levels = _OutlineLevels(package.tree("Contents/header.xml"))
    about = package.tree("Contents/content.hpf")
    members = {each.get("id", ""): each.get("href", "") for each in about.iter("item")}
    flow = Flow(lambda name: package.picture(members.get(name, "")))
    sections = [name for name in package.names if name.startswith("Contents/section")]
    for number, name in enumerate(sorted(sections, key=lambda name: (len(name), name)), 1):
        flow.begin(section=number)
        for paragraph in found(package.tree(name), "p"):
            _read_paragraph(paragraph, flow, levels)
    said = {each.get("name", ""): each.text or "" for each in about.iter("meta")}
    return Parts(
        flow.parts,
        title=text_at(about, "title"),
        author=said.get("creator", "").strip(),
        created_at=moment(said.get("CreatedDate", "")),
        updated_at=moment(said.get("ModifiedDate", "")),
        found=tuple(flow.pictures),
    )


class _OutlineLevels:
    """The outline level of paragraphs, from their style or else their shape; 0 for running text."""

    def __init__(self, header: Element) -> None:
        self._of_style = {each.get("id"): outline_level(each.get("name", "")) for each in header.iter("style")}
        self._of_shape = {
            each.get("id"): 1 + _int(heading.get("level"))
            for each in header.iter("paraPr")
            if (heading := each.find("heading")) is not None and heading.get("type") == "OUTLINE"
        }

    def of(self, paragraph: Element) -> int:
        """The outline level of a paragraph."""
        by_style = self._of_style.get(paragraph.get("styleIDRef"), 0)
        return by_style or self._of_shape.get(paragraph.get("paraPrIDRef"), 0)


def outline_level(style: str) -> int:
    """The level in the name of a style: 2 for `개요 2`; 0 for a style that is no outline."""
    for outline in _OUTLINES:
        level = style.removeprefix(outline)
        if level != style and level.isascii() and level.isdecimal():
            return int(level)
    return 0


def _read_paragraph(paragraph: Element, flow: Flow, levels: _OutlineLevels) -> None:
    level = levels.of(paragraph)
    flow.add("heading" if level else "paragraph", _hwpx_text(paragraph), level)
    for run in found(paragraph, "run"):
        for element in run:
            _read_object(element, flow, levels)


def _read_object(element: Element, flow: Flow, levels: _OutlineLevels) -> None:
    """Reads a table, a note, a picture, or the text in a shape."""
    if element.tag == "tbl":
        rows = list(_hwpx_rows(element))
        flow.add_table([cells for cells, _ in rows], [pictures for _, pictures in rows])
    elif element.tag == "img":
        flow.add_pictures([element.get("binaryItemIDRef", "")])
    elif element.tag in ("footNote", "endNote", "hiddenComment"):
        flow.add_note("comment" if element.tag == "hiddenComment" else "note", _joined(element))
    elif element.tag in ("drawText", "caption"):
        for paragraph in found(element, "subList", "p"):
            _read_paragraph(paragraph, flow, levels)
    elif element.tag not in ("t", "secPr", "header", "footer"):
        for child in element:
            _read_object(child, flow, levels)


def _hwpx_text(paragraph: Element) -> str:
    said: list[str] = []
    for run in found(paragraph, "run"):
        for element in run:
            if element.tag == "t":
                said.append(element.text or "")
                for sign in element:
                    said += _SIGNS.get(sign.tag, ""), sign.tail or ""
            elif element.tag == "equation":
                said.append(f" {text_at(element, 'script')} ")
            elif element.tag == "dutmal":
                said.append(f"{text_at(element, 'mainText')} ({text_at(element, 'subText')})")
    return "".join(said)


def _hwpx_rows(table: Element) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """The cells of each row, one over several rows repeated, over columns padded, and the ids of its pictures."""
    grid = CellGrid()
    for row in found(table, "tr"):
        for cell in found(row, "tc"):
            at, span = cell.find("cellAddr"), cell.find("cellSpan")
            if at is not None:
                spans = 1 if span is None else _int(span.get("rowSpan"))
                pictures = [image.get("binaryItemIDRef", "") for image in cell.iter("img")]
                grid.put(_int(at.get("rowAddr")), _int(at.get("colAddr")), spans, _joined(cell), pictures)
    return grid.rows()


def _int(written: str | None) -> int:
    return int(written) if written and written.isascii() and written.isdecimal() and len(written) < 7 else 0


def _joined(holder: Element) -> str:
    """The text of a cell or a note on one line."""
    return " ".join(" ".join(_hwpx_text(each) for each in holder.iter("p")).split())


@dataclass(slots=True)
class CellGrid:
    """The cells of a table, by row and column, from 0, and the names of the pictures that begin in each row."""

    cells: dict[tuple[int, int], str] = field(default_factory=dict)
    pictures: dict[int, list[str]] = field(default_factory=dict)

    def put(self, row: int, column: int, row_span: int, text: str, pictures: Sequence[str] = ()) -> None:
        """Places a cell in each of the rows that it spans."""
        for at in range(row, row + min(max(row_span, 1), 1_000)):
            self.cells[at, column] = text
        self.pictures.setdefault(row, []).extend(pictures)

    def rows(self) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
        """The rows that have cells, in order, each with its pictures."""
        by_row: dict[int, dict[int, str]] = {}
        for (row, column), text in self.cells.items():
            by_row.setdefault(row, {})[column] = text
        for row, filled in sorted(by_row.items()):
            yield [filled.get(column, "") for column in range(min(max(filled) + 1, 1_000))], self.pictures.get(row, ())


class _Record(NamedTuple):
    """A record of a stream, with the records of deeper levels below it."""

    tag: int
    data: bytes
    below: list[Any]


def read_hwp(data: bytes) -> Parts:
    """The parts of an .hwp file. Raises: ExtractFailed, FileTooLarge, PasswordNeeded."""
    import olefile

    try:
        return _read_ole(olefile.OleFileIO(io.BytesIO(data)))  # left open: pictures are read later
    except (OSError, struct.error, IndexError, zlib.error, ValueError, TypeError) as error:
        raise ExtractFailed(f"not a readable Hangul document: {worded(error)}", _HINT) from error


def _read_ole(ole: Any) -> Parts:
    header = ole.openstream("FileHeader").read()
    if not header.startswith(b"HWP Document File"):
        raise ExtractFailed("a Hangul document of a version before 5", "save it as HWPX")
    (flags,) = struct.unpack_from("<I", header, 36)
    if flags & _ENCRYPTED:
        raise PasswordNeeded("the document is encrypted", "save a copy without a password")
    room = "ViewText" if flags & _DISTRIBUTED else "BodyText"
    streams = _Streams(ole, bool(flags & _COMPRESSED))
    about = records(streams.read("DocInfo"))
    levels = _levels_of(about)
    names = [entry[1] for entry in ole.listdir() if len(entry) == 2 and entry[0] == room]
    flow = Flow(partial(_hwp_picture, streams, _streams_of_pictures(about)))
    for number, name in enumerate(sorted(names, key=lambda name: (len(name), name)), 1):
        flow.begin(section=number)
        for record in records(streams.read(f"{room}/{name}")):
            _read_record(record, flow, levels)
    return _said_of(ole, Parts(flow.parts, found=tuple(flow.pictures)))


def _streams_of_pictures(about: Sequence[_Record]) -> Sequence[str]:
    """The streams of the files embedded in a document, by their numbers from 1; "" for one that is elsewhere."""
    names = []
    for record in _all(about):
        if record.tag == _BIN_DATA:
            kind, number, length = (*struct.unpack_from("<HHH", record.data.ljust(6, b"\0")),)
            extension = record.data[6 : 6 + 2 * length].decode("utf-16-le", "replace")
            names.append(f"BinData/BIN{number:04X}.{extension}" if kind & 0xF == _EMBEDDED else "")
    return names


def _hwp_picture(streams: _Streams, names: Sequence[str], number: str) -> ReadPicture | None:
    """What reads the picture of that number; None if it is not in the file."""
    at = int(number) - 1
    return partial(streams.begin_of, names[at]) if 0 <= at < len(names) and names[at] else None


class _Streams:
    """The streams of a file, unpacked; a limit applies to all of them together."""

    def __init__(self, ole: Any, is_packed: bool) -> None:
        self._ole = ole
        self._is_packed = is_packed
        self._left = MOST_EXPANDED_BYTES

    def begin_of(self, name: str, most_bytes: int) -> bytes:
        """The first bytes of an embedded file, outside of the limit. Raises: ExtractFailed."""
        try:
            data: bytes = self._ole.openstream(name).read()
            if not self._is_packed or picture_size(data) is not None:  # one of them may be stored as it is
                return data[:most_bytes]
            return zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, most_bytes)
        except (OSError, zlib.error, IndexError, ValueError, struct.error) as error:
            raise ExtractFailed(f"{name} in it cannot be read: {worded(error)}", _HINT) from error

    def read(self, name: str) -> bytes:
        """A stream's bytes. Raises: FileTooLarge."""
        data: bytes = self._ole.openstream(name).read()
        if name.startswith("ViewText/"):
            data = opened_text(data)
        if self._is_packed:
            unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
            data = unpacker.decompress(data, self._left + 1)
        self._left -= len(data)
        if self._left < 0:
            raise too_large()
        return data


def opened_text(data: bytes) -> bytes:
    """A section of a document for distribution, decrypted, still packed (AES-128, ECB; the key is in its first record).

    The first record has 256 bytes, XORed with the numbers of a generator whose seed is its first four bytes. Source:
    Hancom's format of documents for distribution.
    """
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    covered = bytearray(data[_RECORD_HEAD : _RECORD_HEAD + _KEY_RECORD])
    (seed,) = struct.unpack_from("<I", covered)
    numbers = _generated(seed)
    at = 0
    while at < _KEY_RECORD:
        cover, run = next(numbers) & 0xFF, (next(numbers) & 0xF) + 1
        for place in range(max(at, 4), min(at + run, _KEY_RECORD)):
            covered[place] ^= cover
        at += run
    key = covered[4 + (seed & 0xF) :][:16]
    body = data[_RECORD_HEAD + _KEY_RECORD :]
    opener = Cipher(algorithms.AES128(bytes(key)), modes.ECB()).decryptor()
    return opener.update(body[: len(body) // 16 * 16]) + opener.finalize()


def _generated(seed: int) -> Iterator[int]:
    """The numbers of Microsoft C's `rand`."""
    while True:
        seed = (seed * 214_013 + 2_531_011) & 0xFFFFFFFF
        yield seed >> 16 & 0x7FFF


def _said_of(ole: Any, parts: Parts) -> Parts:
    """The parts with the title, author and times in the file's properties."""
    name = "\x05HwpSummaryInformation"
    if not ole.exists(name):
        return parts
    said = ole.getproperties(name, convert_time=True)
    title, author = (_text_property(said.get(number)) for number in (2, 4))
    created_at, updated_at = (moment(_text_property(said.get(number)).replace(" ", "T")) for number in (12, 13))
    return parts._replace(title=title, author=author, created_at=created_at, updated_at=updated_at)


def _text_property(value: object) -> str:
    """A property as text; olefile returns bytes for UTF-16 and a datetime for a time."""
    text = value.decode("utf-16-le", "replace") if isinstance(value, bytes) else str(value or "")
    return text.partition("\0")[0].strip()


def records(data: bytes) -> list[_Record]:
    """The records of a stream as trees. Raises: ExtractFailed, FileTooLarge."""
    roots: list[_Record] = []
    open_at: list[list[_Record]] = [roots]
    at = count = 0
    while at + 4 <= len(data):
        (head,) = struct.unpack_from("<I", data, at)
        tag, level, size = head & 0x3FF, (head >> 10) & 0x3FF, head >> 20
        at += 4
        if size == 0xFFF:
            (size,) = struct.unpack_from("<I", data, at)
            at += 4
        count += 1
        if level > _MOST_LEVELS or count > _MOST_RECORDS:
            raise FileTooLarge("it has too many records, or levels", "split it, or list it in .kbignore")
        if at + size > len(data):
            raise ExtractFailed("the document is cut off", _HINT)
        del open_at[level + 1 :]
        record = _Record(tag, data[at : at + size], [])
        open_at[-1].append(record)
        open_at.append(record.below)
        at += size
    return roots


def _levels_of(about: Sequence[_Record]) -> Sequence[Sequence[int]]:
    """The outline levels of all styles, and of all paragraph shapes, by their numbers."""
    styles, shapes = [], []
    for record in _all(about):
        if record.tag == _STYLE:
            (length,) = struct.unpack_from("<H", record.data)
            styles.append(outline_level(record.data[2 : 2 + 2 * length].decode("utf-16-le", "replace")))
        elif record.tag == _PARA_SHAPE:
            (bits,) = struct.unpack_from("<I", record.data)
            shapes.append(1 + (bits >> 25 & 7) if bits >> 23 & 3 == 1 else 0)
    return styles, shapes


def _all(roots: Sequence[_Record]) -> Iterator[_Record]:
    for record in roots:
        yield record
        yield from _all(record.below)


def _read_record(record: _Record, flow: Flow, levels: Sequence[Sequence[int]]) -> None:
    """Reads a paragraph, and after it the objects that are anchored in it."""
    if record.tag != _PARA_HEADER:
        return
    styles, shapes = levels
    shape, style = struct.unpack_from("<HB", record.data, 8)
    level = (styles[style] if style < len(styles) else 0) or (shapes[shape] if shape < len(shapes) else 0)
    flow.add("heading" if level else "paragraph", _text_of(record), level)
    for control in record.below:
        if control.tag == _CTRL_HEADER:
            _read_control(control, flow, levels)


def _read_control(control: _Record, flow: Flow, levels: Sequence[Sequence[int]]) -> None:
    kind = control.data[3::-1]  # stored backwards
    if kind in _NOT_READ:
        return
    if kind == b"tbl ":
        rows = list(_hwp_rows(control))
        flow.add_table([cells for cells, _ in rows], [pictures for _, pictures in rows])
    elif kind in _NOTES:
        flow.add_note(_NOTES[kind], " ".join(" ".join(_text_of(each) for each in _all(control.below)).split()))
    else:
        flow.add_pictures(_pictures_in(control.below))
        for record in _all(control.below):
            if record.tag == _PARA_HEADER:
                _read_record(record, flow, levels)


def _pictures_in(records: Sequence[_Record]) -> Iterator[str]:
    """The numbers of the pictures below records, those inside paragraphs left out."""
    for record in records:
        if record.tag != _PARA_HEADER:
            yield from _picture_numbers(record)
            yield from _pictures_in(record.below)


def _picture_numbers(record: _Record) -> Iterator[str]:
    """The number of the file that a record of a picture shows; none for any other record."""
    if record.tag == _PICTURE and len(record.data) >= _PICTURE_NUMBER_AT + 2:
        yield str(*struct.unpack_from("<H", record.data, _PICTURE_NUMBER_AT))


def _text_of(paragraph: _Record) -> str:
    """The text of a paragraph record with its equations; "" for any other record."""
    if paragraph.tag != _PARA_HEADER:
        return ""
    texts = [decoded(each.data) for each in paragraph.below if each.tag == _PARA_TEXT]
    formulas = [each for control in paragraph.below for each in control.below if each.tag == _EQUATION]
    for formula in formulas:
        (length,) = struct.unpack_from("<H", formula.data, 4)
        texts.append(" " + formula.data[6 : 6 + 2 * length].decode("utf-16-le", "replace"))
    return "".join(texts).strip()


def decoded(units: bytes) -> str:
    """The text of a paragraph's UTF-16 units without its control characters."""
    said: list[str] = []
    start = at = 0
    values = memoryview(units[: len(units) // 2 * 2]).cast("H")
    while at < len(values):
        value = values[at]
        if value >= 32:
            at += 1
            continue
        said.append(units[2 * start : 2 * at].decode("utf-16-le", "replace"))
        said.append("\t" if value == _TAB else _SINGLE.get(value, ""))
        at += 1 if value in _SINGLE else _CONTROL_UNITS
        start = at
    said.append(units[2 * start :].decode("utf-16-le", "replace"))
    return "".join(said)


def _hwp_rows(table: _Record) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """The cells of each row. A list header gives the place of a cell, and the paragraphs after it are its contents."""
    grid = CellGrid()
    place: tuple[int, int, int] | None = None
    said: list[str] = []
    pictures: list[str] = []

    def put() -> None:
        if place is not None:
            row, column, spans = place
            grid.put(row, column, spans, " ".join(" ".join(said).split()), pictures)

    has_begun = False
    for record in table.below:
        if record.tag == _TABLE:
            has_begun = True  # a caption is before it
        elif record.tag == _LIST_HEADER and has_begun:
            put()
            column, row, _, spans = struct.unpack_from("<4H", record.data, 8)
            place, said, pictures = (row, column, spans), [], []
        elif record.tag == _PARA_HEADER:
            said += [_text_of(each) for each in _all([record])]
            pictures += (number for each in _all([record]) for number in _picture_numbers(each))
    put()
    return grid.rows()
