"""The links of a note, each with its line, and the names by which links reach a document.

Wikilinks, embeds, Markdown links, images and definitions of links count, outside of code, comments and formulas; links
to the web, to mail and within the note do not. `work:note` may be of a source or an address of the scheme `work`, which
the index decides (`sql/inspect/list_links.sql`). Names are compared in NFC and without regard to case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from posixpath import basename, dirname, join, normpath
from typing import NamedTuple
from urllib.parse import unquote

from kb.domain.citations import parse_citation
from kb.domain.documents import LinkKind
from kb.domain.sources import RESERVED_NAMES, WORKSPACE, source_and_path
from kb.domain.text import stored_text
from kb.errors import InvalidCitation
from kb.language.markup import CODE, COMMENT

_WIKILINK = r"(?P<embed>!?)\[\[(?P<wiki>[^\[\]\n|]+)(?:\|[^\[\]\n]*)?\]\]"
_DESTINATION = r"<(?P<angled>[^<>\n]*)>|(?P<bare>[^\s()<>]*(?:\([^\s()]*\)[^\s()<>]*)*)"
_INLINE = rf"""\]\([ \t]*(?:{_DESTINATION})(?:[ \t]+["'(][^\n]*?)?[ \t]*\)"""
_DEFINITION = r"^[ ]{0,3}\[(?!\^)[^\[\]\n]+\]:[ \t]*<?(?P<defined>[^\s<>]+)"
_LINK = re.compile(rf"{CODE}|{COMMENT}|{_WIKILINK}|{_INLINE}|{_DEFINITION}", re.MULTILINE | re.DOTALL)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")


class NoteLink(NamedTuple):
    """A link in a line, from 1. `target` is decoded and without the `anchor`.

    `name`, `path` and `beside` are compared with documents: the last part of the target, the whole target, and the path
    that it names from the note's folder. If the target may begin with a `source`, `path` is what follows, `beside` all
    of it.
    """

    line: int
    kind: LinkKind
    target: str
    anchor: str | None
    name: str
    path: str
    beside: str
    source: str | None = None


class DocumentName(NamedTuple):
    """A name that links may use: of a file (`path` is the whole path) or an alias."""

    name: str
    path: str
    is_alias: bool


def folded(name: str) -> str:
    """A name as names are compared."""
    return stored_text(name).casefold()


def names_of(paths: Iterable[str], aliases: Iterable[str], *, is_note: bool) -> list[DocumentName]:
    """The names of a document, its paths first; for a note also without the extension."""
    paths = [spelled for path in paths for spelled in ((path, path.rpartition(".")[0] or path) if is_note else (path,))]
    names = {path: DocumentName(last_part(path), path, False) for path in map(folded, paths)}
    for alias in map(folded, aliases):
        names.setdefault(alias, DocumentName(last_part(alias), alias, True))
    return list(names.values())


def last_part(path: str) -> str:
    """What is behind the last slash or colon of a path."""
    return basename(path).rpartition(":")[2]


def links_of(text: str, path: str, *, prefix: str = "") -> Iterator[NoteLink]:
    """The links in a note's text, in order; `prefix` is the prefix of the stored path of the note's source."""
    if "](" not in text and "[[" not in text and "]:" not in text:
        return
    line, at = 1, 0
    for found in _LINK.finditer(text):
        wiki = found["wiki"]
        written = wiki or found["angled"] or found["bare"] or found["defined"]
        if not written or (_SCHEME.match(written) and not may_name_a_source(written)):
            continue
        target, _, anchor = written.partition("#")
        if not wiki:
            target, anchor = unquote(target), unquote(anchor)
        target = stored_text(target.strip().rstrip("\\")).rstrip("/")
        if not target:
            continue
        line += text.count("\n", at, found.start())
        at = found.start()
        source, within = source_and_path(target) if may_name_a_source(target) else ("", target)
        named = folded(within)
        beside = folded(prefix) + normpath(join(dirname(folded(path)), named))
        named = normpath(named).lstrip("/")
        if source:
            beside = folded(target)
        elif named.startswith("..") or target.startswith("./"):
            named = beside  # it names a place from the note's folder, and no other
        kind: LinkKind = "embed" if found["embed"] else "wikilink" if wiki else "markdown"
        if anchor and _is_place(f"{target}#{anchor}"):
            kind = "citation"
        anchor = stored_text(anchor.strip())
        yield NoteLink(line, kind, target, anchor or None, last_part(named), named, beside, source or None)


def may_name_a_source(written: str) -> bool:
    """Whether a target begins with a name that a source may have, and no address does."""
    head, rest = source_and_path(written)
    return bool(head and rest) and (head == WORKSPACE or head not in RESERVED_NAMES) and not rest.startswith("//")


def _is_place(written: str) -> bool:
    try:
        parse_citation(written)
    except InvalidCitation:
        return False
    return True
