"""The links of a note, each with its line, and the names by which links reach a document.

Wikilinks, embeds, Markdown links, images and definitions of links count, outside of code, comments and formulas; links
to the web, to mail and within the note do not. Names are compared in NFC and without regard to case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from posixpath import basename, dirname, join, normpath
from urllib.parse import unquote

from kb.domain.citations import parse_citation
from kb.domain.documents import LinkKind
from kb.domain.text import stored_text
from kb.errors import InvalidCitation
from kb.language.markup import CODE, COMMENT
from kb.records import NamedTuple

_WIKILINK = r"(?P<embed>!?)\[\[(?P<wiki>[^\[\]\n|]+)(?:\|[^\[\]\n]*)?\]\]"
_DESTINATION = r"<(?P<angled>[^<>\n]*)>|(?P<bare>[^\s()<>]*(?:\([^\s()]*\)[^\s()<>]*)*)"
_INLINE = rf"""\]\([ \t]*(?:{_DESTINATION})(?:[ \t]+["'(][^\n]*?)?[ \t]*\)"""
_DEFINITION = r"^[ ]{0,3}\[(?!\^)[^\[\]\n]+\]:[ \t]*<?(?P<defined>[^\s<>]+)"
_LINK = re.compile(rf"{CODE}|{COMMENT}|{_WIKILINK}|{_INLINE}|{_DEFINITION}", re.MULTILINE | re.DOTALL)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")


class NoteLink(NamedTuple):
    """A link at a line, from 1. `target` is decoded, without the `anchor`; `name`, `path` and `beside` are compared:
    its last part, all of it, and the path that it names from the note's folder."""

    line: int
    kind: LinkKind
    target: str
    anchor: str | None
    name: str
    path: str
    beside: str


class DocumentName(NamedTuple):
    """A name that links may use: of a file (`path` is the whole path) or an alias."""

    name: str
    path: str
    is_alias: bool


def folded(name: str) -> str:
    """A name as names are compared."""
    return stored_text(name).casefold()


def names_of(paths: Iterable[str], aliases: Iterable[str], *, is_note: bool) -> list[DocumentName]:
    """The names of a document, its paths first; a note's are also without the extension."""
    paths = [spelled for path in paths for spelled in ((path, path.rpartition(".")[0] or path) if is_note else (path,))]
    names = {path: DocumentName(basename(path), path, False) for path in map(folded, paths)}
    for alias in map(folded, aliases):
        names.setdefault(alias, DocumentName(alias, alias, True))
    return list(names.values())


def links_of(text: str, path: str, *, prefix: str = "") -> Iterator[NoteLink]:
    """The links in a note's text, in order; `prefix` is what stands before the note's path where it is stored."""
    if "](" not in text and "[[" not in text and "]:" not in text:
        return
    line, at = 1, 0
    for found in _LINK.finditer(text):
        wiki = found["wiki"]
        written = wiki or found["angled"] or found["bare"] or found["defined"]
        if not written or _SCHEME.match(written):
            continue
        target, _, anchor = written.partition("#")
        if not wiki:
            target, anchor = unquote(target), unquote(anchor)
        target = stored_text(target.strip().rstrip("\\")).rstrip("/")
        if not target:
            continue
        line += text.count("\n", at, found.start())
        at = found.start()
        named = folded(target)
        beside = folded(prefix) + normpath(join(dirname(folded(path)), named))
        named = normpath(named).lstrip("/")
        if named.startswith("..") or target.startswith("./"):
            named = beside  # it names a place from the note's folder, and no other
        kind: LinkKind = "embed" if found["embed"] else "wikilink" if wiki else "markdown"
        if anchor and _is_place(f"{target}#{anchor}"):
            kind = "citation"
        yield NoteLink(line, kind, target, stored_text(anchor.strip()) or None, basename(named), named, beside)


def _is_place(written: str) -> bool:
    try:
        parse_citation(written)
    except InvalidCitation:
        return False
    return True
