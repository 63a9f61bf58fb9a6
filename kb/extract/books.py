"""Books and saved pages that hold HTML: EPUB → chapters and their paragraphs, MHTML → the paragraphs of its page."""

from __future__ import annotations

import posixpath
from email.message import Message
from functools import partial
from urllib.parse import unquote, urljoin

from kb.errors import ExtractFailed
from kb.extract.decode import decode
from kb.extract.flowing import below, page_parts
from kb.extract.hypertext import read_hypertext
from kb.extract.mail import decoded_head, parsed_message
from kb.extract.markdown.frontmatter import timestamp
from kb.extract.office.package import Package, text_at
from kb.extract.parts import FoundPicture, Part, Parts, ReadPicture

_PAGES = ("application/xhtml+xml", "text/html")
_HINT = "open it in its program and save it again"


def read_epub(data: bytes) -> Parts:
    """The chapters of a book in reading order, and its title and author. Raises: ExtractFailed, FileTooLarge."""
    package = Package(data)
    root = next((each.get("full-path", "") for each in package.tree("META-INF/container.xml").iter("rootfile")), "")
    book = package.tree(root)
    items = {each.get("id"): each for each in book.iter("item")}
    parts: list[Part] = []
    pictures: list[FoundPicture] = []
    notes: list[str] = []
    chapter = 0
    for listed in dict.fromkeys(each.get("idref") for each in book.iter("itemref")):
        item = items.get(listed)
        if item is None or item.get("media-type") not in _PAGES or "nav" in (item.get("properties") or "").split():
            continue
        name = posixpath.normpath(posixpath.join(posixpath.dirname(root), unquote(item.get("href", ""))))
        if name not in package.names:
            notes.append(f"{name} is not in the file")
            continue
        page = page_parts(read_hypertext(decode(package.read(name)).text, is_xml=True), partial(_beside, package, name))
        chapter += bool(page.parts)
        inner = below(page, chapter=max(chapter, 1))
        parts += inner.parts
        pictures += inner.found
    if not parts and not pictures:
        raise ExtractFailed("not a book, or encrypted: it names no chapter with text", _HINT)
    when = timestamp(text_at(book, "date"))
    title, author = text_at(book, "title"), text_at(book, "creator")
    return Parts(tuple(parts), title, author, when, notes=tuple(notes), found=tuple(pictures))


def _beside(package: Package, page: str, address: str) -> ReadPicture | None:
    """What reads the picture that a page of a book refers to; None for one elsewhere."""
    return package.picture(posixpath.normpath(posixpath.join(posixpath.dirname(page), unquote(address))))


def read_mhtml(data: bytes) -> Parts:
    """The paragraphs of a page that a browser saved with its pictures. Raises: ExtractFailed."""
    message = parsed_message(data)
    pages = (part for part in message.walk() if part.get_content_type() in _PAGES)
    first = next(pages, None)
    body = first.get_payload(decode=True) if first is not None else None
    if first is None or not isinstance(body, bytes):
        raise ExtractFailed("not a saved page: it holds no HTML", "save it again in the browser")
    charset = first.get_param("charset")
    page = read_hypertext(decode(body, charset if isinstance(charset, str) else None).text)
    address = page.address or decoded_head(message, "Snapshot-Content-Location")
    title = page.title or decoded_head(message, "Subject")
    user = {"url": address} if address else {}
    pictures = _saved_pictures(message)
    base = decoded_head(first, "Content-Location")
    read = page_parts(page, lambda name: pictures.get(name) or pictures.get(urljoin(base, name)))
    return read._replace(title=title, author=page.author or "", created_at=page.date, user=user)


def _saved_pictures(message: Message) -> dict[str, ReadPicture]:
    """What reads the pictures that were saved with a page, by their addresses."""
    found: dict[str, ReadPicture] = {}
    for part in message.walk():
        if part.get_content_maintype() == "image":
            identity = decoded_head(part, "Content-ID").strip("<> ")
            for address in (decoded_head(part, "Content-Location"), f"cid:{identity}"):
                found[address] = partial(_body_of, part)
    return found


def _body_of(part: Message, most_bytes: int) -> bytes:
    body = part.get_payload(decode=True)
    return body[:most_bytes] if isinstance(body, bytes) else b""
