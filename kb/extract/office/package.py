"""Files that are a ZIP of XML: their members and trees, within limits; nothing outside the file is ever read."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from posixpath import dirname, join, normpath
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from kb.errors import ExtractFailed, FileTooLarge, PasswordNeeded, worded
from kb.extract.parts import Parts, ReadPicture

# What all members that are read may expand to, and the elements and levels of one tree.
MOST_EXPANDED_BYTES = 200_000_000
MOST_ELEMENTS = 4_000_000
MOST_LEVELS = 256

OLE_START = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

# Members about the file, in the formats of Microsoft and OpenDocument.
_ABOUT = ("docProps/core.xml", "meta.xml")

_UNREADABLE = (zipfile.BadZipFile, zlib.error, OSError, EOFError, KeyError, NotImplementedError, ValueError)
_HINT = "open it in its program and save it again"
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:\d\d)?)?")


class Package:
    """The members of a file in the ZIP format."""

    def __init__(self, data: bytes) -> None:
        """Raises: PasswordNeeded for an encrypted file; ExtractFailed for one that is no ZIP."""
        if data.startswith(OLE_START):
            raise PasswordNeeded("the file is encrypted, or of an older format", "save a copy without a password")
        if not data:
            raise ExtractFailed("the file is empty", _HINT)
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
            raise ExtractFailed(f"not a readable file of its kind: {worded(error)}", _HINT) from error
        self.names = frozenset(self._zip.namelist())
        self._left = MOST_EXPANDED_BYTES

    def read(self, name: str) -> bytes:
        """The bytes of a member. Raises: FileTooLarge, PasswordNeeded, ExtractFailed."""
        try:
            with self._zip.open(name) as member:
                data = member.read(self._left + 1)
        except RuntimeError as error:  # what zipfile raises for an encrypted member
            raise PasswordNeeded("the file is encrypted", "save a copy without a password") from error
        except _UNREADABLE as error:
            raise ExtractFailed(f"{name} in it cannot be read: {worded(error)}", _HINT) from error
        self._left -= len(data)
        if self._left < 0:
            raise too_large()
        return data

    def picture(self, name: str) -> ReadPicture | None:
        """What reads a picture that is a member; None if there is no such member."""
        return partial(self._begin_of, name) if name in self.names else None

    def _begin_of(self, name: str, most_bytes: int) -> bytes:
        """The first bytes of a member, outside of the limit of those that are read. Raises: ExtractFailed."""
        try:
            with self._zip.open(name) as member:
                return member.read(most_bytes)
        except (*_UNREADABLE, RuntimeError) as error:
            raise ExtractFailed(f"{name} in it cannot be read: {worded(error)}", _HINT) from error

    def targets(self, member: str) -> dict[str, str]:
        """The members that a member of a Microsoft file refers to, by the ids of its references."""
        folder = dirname(member)
        references = self.tree(join(folder, "_rels", f"{member.removeprefix(folder).lstrip('/')}.rels"))
        return {
            each.get("Id", ""): normpath(join(folder, each.get("Target", "").lstrip("/")))
            if not each.get("Target", "").startswith("/")
            else each.get("Target", "").lstrip("/")
            for each in found(references, "Relationship")
            if each.get("TargetMode") != "External"
        }

    def require_fitting(self) -> None:
        """Raises FileTooLarge if all members together expand to more than kb reads, according to the ZIP directory."""
        if sum(each.file_size for each in self._zip.infolist()) > MOST_EXPANDED_BYTES:
            raise too_large()

    def tree(self, name: str) -> Element:
        """The XML tree of a member, an empty tree if there is no such member. Raises: as `read` and `parse_xml`."""
        return parse_xml(self.read(name)) if name in self.names else Element("none")

    def said_of(self, parts: Parts) -> Parts:
        """The parts with the title, author and times in the file's properties."""
        about = next((self.tree(name) for name in _ABOUT if name in self.names), Element("none"))
        return parts._replace(
            title=parts.title or text_at(about, "title"),
            author=text_at(about, "initial-creator") or text_at(about, "creator"),
            created_at=moment(text_at(about, "created") or text_at(about, "creation-date")),
            updated_at=moment(text_at(about, "modified") or text_at(about, "date")),
        )


def embedded(element: Element) -> Iterator[str]:
    """The ids of the references to pictures below an element (DrawingML, VML), without second forms of them."""
    if element.tag in ("blip", "imagedata"):
        yield element.get("r:embed") or element.get("r:id") or ""
    for child in element:
        if child.tag not in ("Fallback", "txbxContent", "del", "moveFrom"):
            yield from embedded(child)


def expanded_bytes(data: bytes) -> int:
    """The number of bytes that the members of a ZIP file have by its directory; of any other file, its own size."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            return sum(each.file_size for each in package.infolist())
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
        return len(data)


def too_large() -> FileTooLarge:
    """The error of a file that expands to more than is read."""
    shown = f"unpacked it has more than {MOST_EXPANDED_BYTES // 1_000_000} MB"
    return FileTooLarge(shown, "split it, or list it in .kbignore")


def parse_xml(data: bytes) -> Element:
    """The tree of an XML text, with names without namespaces.

    A document type declaration is refused, since entity bombs and references to be fetched are declared there. Raises:
    ExtractFailed, FileTooLarge.
    """
    builder, parser = TreeBuilder(), expat.ParserCreate(namespace_separator="}")
    counts = [0, 0]  # elements, levels

    def start(name: str, attributes: dict[str, str]) -> None:
        counts[0] += 1
        counts[1] += 1
        if counts[0] > MOST_ELEMENTS or counts[1] > MOST_LEVELS:
            raise FileTooLarge("its XML has too many elements, or levels", "split it, or list it in .kbignore")
        builder.start(_local(name), {_attribute(key): value for key, value in attributes.items()})

    def end(name: str) -> None:
        counts[1] -= 1
        builder.end(_local(name))

    def refuse(*declared: object) -> None:
        raise ExtractFailed("its XML declares a document type, which files of this kind do not have", _HINT)

    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise ExtractFailed(f"its XML is damaged: {worded(error)}", _HINT) from error
    return builder.close()


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _attribute(name: str) -> str:
    """The local name of an attribute, except `r:id`, which refers to another member and is often next to an `id`."""
    space, _, local = name.rpartition("}")
    return f"r:{local}" if space.endswith("/relationships") else local


def found(tree: Element, *path: str) -> Iterator[Element]:
    """The elements at a path of names below `tree`."""
    return tree.iterfind("/".join(path))


def text_at(tree: Element, name: str) -> str:
    """The text of the first element of that name anywhere in `tree`, on one line; "" if there is none."""
    element = next(tree.iter(name), None)
    return " ".join("".join(element.itertext()).split()) if element is not None else ""


def moment(written: str) -> str | None:
    """A time in an office file as RFC 3339 UTC; None for any other text."""
    match = _TIME.fullmatch(written.strip())
    if match is None:
        return None
    try:
        read = datetime.fromisoformat(f"{match[1]}T{match[2] or '00:00:00'}{match[3] or 'Z'}".replace("Z", "+00:00"))
    except ValueError:
        return None
    return read.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
