"""Files of entries (BibTeX, RIS, iCalendar, vCard): readable text on the lines of the file.

An entry begins with a heading, its title, on the line where it begins in the file. A value folded over several lines is
on the first of them. Values of no use to a reader, such as an inline photograph, are left out.
"""

from __future__ import annotations

import quopri
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from kb.extract.decode import decode


def _named(written: str) -> Mapping[str, str]:
    """The fields of a format to show, each with its label; the label is empty if the value needs none."""
    return {name: words for name, _, words in (each.partition(" ") for each in written.split(", "))}


_ACCENTS = dict(zip("`'^\"~=.uvHckr", "̧̨̀́̂̈̃̄̇̆̌̋̊", strict=True))
_ACCENT = re.compile(r"\\([`'^\"~=.]|[uvHckr](?![A-Za-z]))\s*\{?\s*\\?([A-Za-z])\s*\}?")
_LETTERS = {"ss": "ß", "o": "ø", "O": "Ø", "l": "ł", "L": "Ł", "ae": "æ", "AE": "Æ", "oe": "œ", "aa": "å", "AA": "Å"}
_LETTER = re.compile(rf"\\({'|'.join(sorted(_LETTERS, key=len, reverse=True))})(?![A-Za-z])\s*(?:\{{\}})?")
_COMMAND = re.compile(r"\\[A-Za-z]+\*?\s*|\\(?=[&%$#_{}])|[{}]")
_BIB_BEGIN = re.compile(r"\s*@(\w+)\s*[{(]\s*([^\s,=\"{}]*)\s*,?")
_BIB_FIELD = re.compile(r"\s*([A-Za-z][\w:-]*)\s*=\s*(.*)", re.DOTALL)
_BIB_UNREAD = ("comment", "preamble", "string")

_RIS_LINE = re.compile(r"([A-Z][A-Z0-9])  -(?: (.*))?$")
_RIS_NAMES = _named(
    "AU author, A1 author, PY date, Y1 date, DA date, JO in, JF in, JA in, T2 in, BT in, AB abstract, N2 abstract, "
    "KW keyword, DO DOI, UR address, PB publisher, CY place, N1 note, SN ISSN, A2 editor, VL volume, IS number, "
    "SP from page, EP to page, ID id, LA language"
)
_RIS_TITLES = ("TI", "T1", "CT")

_PROPERTY = re.compile(r"(?:[\w-]+\.)?([A-Za-z][\w-]*)((?:;[\w-]+(?:=(?:\"[^\"]*\"|[^\";:]*))?)*):(.*)", re.DOTALL)
_ESCAPED = re.compile(r"\\([\\;,nN:])")
_MOMENT = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?:T(\d\d):?(\d\d)(?::?\d\d)?(Z?))?$")
_EVENT_NAMES = _named(
    "DTSTART start, DTEND end, DUE due, LOCATION place, DESCRIPTION, COMMENT, ORGANIZER organizer, ATTENDEE attendee, "
    "CATEGORIES categories, STATUS status, URL address, RRULE repeats, COMPLETED completed, CONTACT contact"
)
_CARD_NAMES = _named(
    "ORG organization, TITLE title, ROLE role, TEL telephone, EMAIL e-mail, ADR address, NOTE, URL web, BDAY birthday, "
    "NICKNAME nickname, CATEGORIES categories, ANNIVERSARY anniversary, IMPP messenger, RELATED related"
)


def entries_text(data: bytes, media_format: str) -> str | None:
    """The readable text of a file of entries, line by line; None for a file of another format."""
    lay = _FORMATS.get(media_format)
    return None if lay is None else "\n".join(lay(decode(data).text.split("\n")))


def _bibtex(lines: Sequence[str]) -> list[str]:
    """The text of each line, without strings and preambles. An entry is headed by its title, then its key."""
    said: list[list[str]] = [[] for _ in lines]
    for first, end in _ranges(lines, _BIB_BEGIN):
        begin = _BIB_BEGIN.match(lines[first])
        if begin is None or begin[1].lower() in _BIB_UNREAD:
            continue
        title = ""
        for line, written in _bib_fields([lines[first][begin.end() :], *lines[first + 1 : end]]):
            if field := _BIB_FIELD.match(written):
                name, value = field[1].lower(), _plain_tex(field[2])
                if name == "title":
                    title = value
                elif value:
                    said[first + line].append(f"{name}: {value}")
        named = f"{begin[2]}, {begin[1].lower()}" if begin[2] else begin[1].lower()
        heading = f"# {title} ({named})" if title else f"# {named}"
        beside = "; ".join(said[first])  # fields on the line of its beginning
        said[first] = [f"{heading}  {beside}" if beside else heading]
    return ["; ".join(fields) for fields in said]


def _ranges(lines: Sequence[str], begin: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    return pairwise((*(at for at, line in enumerate(lines) if begin.match(line)), len(lines)))


def _bib_fields(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The fields of an entry, each with its first line, from 0; commas inside braces or quotes end no field."""
    depth, quoted, start, field, has_text = 0, False, 0, "", False
    for number, line in enumerate(lines):
        for at, char in enumerate(line):
            escaped = at > 0 and line[at - 1] == "\\"
            if char in "{}" and not escaped:
                depth += 1 if char == "{" else -1
            elif char == '"' and not depth and not escaped:
                quoted = not quoted
            if depth < 0:  # the end of the entry
                yield start, field
                return
            if char == "," and not depth and not quoted:
                yield start, field
                field, has_text = "", False
                continue
            if not has_text:
                start, has_text = number, not char.isspace()
            field += char
        field += " " if has_text else ""
    yield start, field


def _plain_tex(written: str) -> str:
    """A BibTeX value without quotation marks, braces and commands; accents become letters."""
    text = " ".join(written.split()).rstrip(",")
    text = text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text
    text = _ACCENT.sub(lambda found: unicodedata.normalize("NFC", found[2] + _ACCENTS[found[1]]), text)
    text = _COMMAND.sub("", _LETTER.sub(lambda found: _LETTERS[found[1]], text))
    return text.replace("~", " ").replace("---", "—").replace("--", "–").strip()


def _ris(lines: Sequence[str]) -> list[str]:
    """The text of each line. An entry is headed by its title, on the line of its type; a value may take more lines."""
    laid: list[list[str]] = [[] for _ in lines]
    begun, last = None, 0
    for at, line in enumerate(lines):
        found = _RIS_LINE.match(line.rstrip().removeprefix("\ufeff"))
        if found is None:
            if begun is not None and line.strip():
                laid[last].append(line.strip())
            continue
        tag, value = found[1], (found[2] or "").strip()
        last = at
        if tag == "TY":
            begun, laid[at] = at, [f"# {value}"]
        elif tag == "ER":
            begun = None
        elif tag in _RIS_TITLES and begun is not None and value:
            laid[begun], last = [f"# {value}"], begun
        elif tag in _RIS_NAMES and value:
            laid[at] = [f"{_RIS_NAMES[tag]}: {value}"]
    return [" ".join(pieces) for pieces in laid]


class _Property(NamedTuple):
    line: int
    name: str
    value: str
    zone: str


def _properties(lines: Sequence[str]) -> Iterator[_Property]:
    """The properties of an iCalendar or vCard file, unfolded, each with the line, from 0, at which it begins."""
    at = 0
    while at < len(lines):
        start, written = at, [lines[at].rstrip()]
        at += 1
        is_quoted = "QUOTED-PRINTABLE" in written[0].partition(":")[0].upper()
        while at < len(lines) and (lines[at][:1] in (" ", "\t") or (is_quoted and written[-1].endswith("="))):
            goes_on = lines[at].rstrip()
            written[-1] = written[-1].removesuffix("=") if is_quoted else written[-1]
            written.append(goes_on[1:] if goes_on[:1] in (" ", "\t") else goes_on)
            at += 1
        if found := _PROPERTY.match("".join(written)):
            told = dict(each.partition("=")[::2] for each in found[2].upper().split(";"))
            value = found[3]
            if is_quoted:
                value = decode(quopri.decodestring(value.encode("utf-8", "replace")), told.get("CHARSET")).text
            shown = _ESCAPED.sub(lambda escaped: " " if escaped[1] in "nN" else escaped[1], value)
            zone = re.search(r"TZID=\"?([^;:\"]+)", found[2], re.IGNORECASE)
            yield _Property(start, found[1].upper(), " ".join(shown.split()), zone[1] if zone else "")


def _blocks(lines: Sequence[str], kinds: Sequence[str], titles: Sequence[str], names: Mapping[str, str]) -> list[str]:
    """The entries between BEGIN and END of a kind, each headed by the first of its `titles`."""
    laid = [""] * len(lines)
    begun: int | None = None
    inner = 0
    for line, name, value, zone in _properties(lines):
        if name == "BEGIN" and begun is None and value.upper() in kinds:
            begun, laid[line] = line, f"# {value.lower().removeprefix('v')}"
        elif name == "BEGIN" and begun is not None:
            inner += 1
        elif name == "END" and inner:
            inner -= 1
        elif name == "END":
            begun = None
        elif begun is None or inner or not value:
            continue
        elif name in titles:
            laid[begun] = f"# {value.replace(';', ' ').strip()}"
        elif name in names:
            said = _moment(value, zone).removeprefix("mailto:").removeprefix("MAILTO:")
            said = ", ".join(part for part in said.split(";") if part) if name in ("ADR", "ORG") else said
            laid[line] = f"{names[name]}: {said}" if names[name] else said
    return laid


def _moment(value: str, zone: str) -> str:
    """A date and time as `2024-03-09 14:00 Asia/Seoul`; a value in another form is unchanged."""
    found = _MOMENT.match(value)
    if found is None:
        return value
    day = f"{found[1]}-{found[2]}-{found[3]}"
    return f"{day} {found[4]}:{found[5]} {zone or ('UTC' if found[6] else '')}".strip() if found[4] else day


def _icalendar(lines: Sequence[str]) -> list[str]:
    return _blocks(lines, ("VEVENT", "VTODO", "VJOURNAL"), ("SUMMARY",), _EVENT_NAMES)


def _vcard(lines: Sequence[str]) -> list[str]:
    return _blocks(lines, ("VCARD",), ("FN",), _CARD_NAMES)


_FORMATS: Mapping[str, Callable[[Sequence[str]], list[str]]] = {
    "bibtex": _bibtex,
    "ris": _ris,
    "icalendar": _icalendar,
    "vcard": _vcard,
}
