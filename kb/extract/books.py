"""Books and saved pages that hold HTML: EPUB → chapters and their paragraphs, MHTML → the paragraphs of its page."""

from __future__ import annotations

import posixpath
from urllib.parse import unquote

from kb.errors import ExtractFailed
from kb.extract.decode import decode
from kb.extract.flowing import below, page_parts
from kb.extract.hypertext import read_hypertext
from kb.extract.mail import decoded_head, parsed_message
from kb.extract.markdown.frontmatter import timestamp
from kb.extract.office.package import Package, text_at
from kb.extract.parts import Part, Parts

_PAGES = ("application/xhtml+xml", "text/html")
_HINT = "open it in its program and save it again"


def read_epub(data: bytes) -> Parts:
    """The chapters of a book in reading order, and its title and author. Raises: ExtractFailed, FileTooLarge."""
    package = Package(data)
    root = next((each.get("full-path", "") for each in package.tree("META-INF/container.xml").iter("rootfile")), "")
    book = package.tree(root)
    items = {each.get("id"): each for each in book.iter("item")}
    parts: list[Part] = []
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
        found = page_parts(read_hypertext(decode(package.read(name)).text, is_xml=True))
        if found:
            chapter += 1
            parts += below(found, chapter=chapter)
    if not parts:
        raise ExtractFailed("not a book, or encrypted: it names no chapter with text", _HINT)
    when = timestamp(text_at(book, "date"))
    return Parts(tuple(parts), text_at(book, "title"), text_at(book, "creator"), when, notes=tuple(notes))


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
    return Parts(page_parts(page), title, page.author or "", page.date, user=user)
