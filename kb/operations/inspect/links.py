"""Links of a document and to it, the documents near it, and links that reach no document or heading."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from kb.domain.results.fetched import FetchTarget
from kb.domain.results.inspection import DocumentRow, LinkRow
from kb.domain.results.viewing import BrokenLink, BrokenLinks, NearDocument, NearDocuments
from kb.domain.sources import Sources, source_and_path
from kb.language.links import folded, last_part
from kb.operations.fetch.places import find_places, headed, indexed_content, require_document
from kb.operations.fetch.sections import is_headed, sections_of
from kb.operations.opening.base import Base, ConnectedBase
from kb.operations.opening.vectors import borrowed_vectors
from kb.scan.read import is_there
from kb.store import queries
from kb.store.mirror import load_vector_functions, mirrored

_MOST_SHOWN = 500
# A document is compared by its first passages: each is a scan of all vectors.
_PASSAGES, _NEIGHBOURS, _NEAR = 4, 40, 8
_NEIGHBOURS_OF_HIDDEN = 400  # of which hidden ones are dropped

# How alike two names must be, of 1: a slip or two.
_ALIKE = 0.75


def related_documents(session: Base, path: str) -> NearDocuments:
    """The links of a document and to it, and the nearest documents; `path` may be the end of its path.

    Of several links from one document to another, only the first is included. Raises: NotFound; InvalidId if several
    documents have a path that ends so.
    """
    with session.reading() as base, base.snapshot():
        document = find_places(base.db, base.config.sources, FetchTarget(path))[0].document
        links, backlinks = map(_once, links_around(base, document.doc_id))
    return NearDocuments(document.workspace_path, near_documents(session, document.workspace_path), links, backlinks)


def _once(links: list[LinkRow]) -> list[LinkRow]:
    """The first link from each document to each other; of links that reach none, the first with each target."""
    first: dict[object, LinkRow] = {}
    for each in links:
        first.setdefault((each.workspace_path, each.target_path or (each.target, each.anchor)), each)
    return list(first.values())


def links_around(base: ConnectedBase, doc_id: str) -> tuple[list[LinkRow], list[LinkRow]]:
    """The links of a document, and the links of others that reach it; at most 500 of each."""
    ids = json.dumps([doc_id])
    out = queries.list_links(base.db, from_ids_json=ids, to_ids_json=None, broken=0, row_limit=_MOST_SHOWN)
    into = queries.list_links(base.db, from_ids_json=None, to_ids_json=ids, broken=0, row_limit=_MOST_SHOWN)
    return out, into


def near_documents(session: Base, path: str) -> list[NearDocument]:
    """The documents nearest by meaning to the one at `path`; empty if nothing is embedded. Raises: NotFound."""
    with session.reading() as base:
        doc_id = require_document(base.db, path).doc_id
        if mirrored(base.db) is None:
            return []
        load_vector_functions(base.db)
        nearest: dict[str, NearDocument] = {}
        looked_at = _NEIGHBOURS_OF_HIDDEN if base.hides else _NEIGHBOURS
        with base.snapshot():
            borrowed = borrowed_vectors(base.db, base.config, base.models)
            if borrowed is not None:
                borrowed.hold(borrowed.of_document(doc_id))
            for vector in queries.select_document_vectors(base.db, doc_id=doc_id, row_limit=_PASSAGES):
                if borrowed is not None:
                    borrowed.hold(borrowed.nearest(vector.embedding, looked_at))
                near = queries.select_near_documents(base.db, embedding=vector.embedding, k=looked_at, doc_id=doc_id)
                for each in near:
                    known = nearest.get(each.doc_id)
                    if known is None or each.distance < known.distance:
                        nearest[each.doc_id] = each
    return sorted(nearest.values(), key=lambda each: (each.distance, each.workspace_path))[:_NEAR]


def broken_links(session: Base) -> BrokenLinks:
    """The links that reach neither a document nor a file or folder in the sources, each with the most similar name, and
    those to a heading or block that a note does not have, each with its most similar heading.

    Of equal links in one line, the first.
    """
    with session.reading() as base, base.snapshot():
        every = queries.list_links(base.db, from_ids_json=None, to_ids_json=None, broken=0, row_limit=-1)
        found = list({(each.workspace_path, each.line, each.target, each.anchor): each for each in every}.values())
        unresolved = [each for each in found if each.target_path is None]
        names = {row.name: row.workspace_path for row in reversed(queries.list_names(base.db))} if unresolved else {}
        sources = base.config.sources
        nearest = _nearest_headings(base, found)
    files = frozenset(name for each in sources.every for name in _names_below(each.root)) if unresolved else frozenset()
    broken = []
    for each in found:
        place = (each.target_path or "", each.anchor or "")
        if place in nearest and each.kind != "citation":
            broken.append(BrokenLink(each, nearest[place]))
        elif each.target_path is None and not _is_there(sources, each, files):
            broken.append(BrokenLink(each, _nearest(each, names)))
    return BrokenLinks(tuple(broken))


def _nearest_headings(base: ConnectedBase, links: list[LinkRow]) -> dict[tuple[str, str], str | None]:
    """By note and anchor, the most similar heading of each anchor that the note does not have, or None."""
    from difflib import get_close_matches

    nearest: dict[tuple[str, str], str | None] = {}
    for path, anchor in {(each.target_path, each.anchor) for each in links if each.kind != "citation"}:
        if not path or not anchor or not any(map(str.isalnum, anchor)) or anchor.startswith(":~:"):
            continue
        document = require_document(base.db, path)
        if document.media_type != "markdown" or headed(base.db, document, anchor) or _is_written(document, anchor):
            continue
        sections = sections_of(queries.select_blocks(base.db, doc_id=document.doc_id))
        headings = {folded(each.text): each.text for each in sections}
        alike = get_close_matches(folded(anchor).rpartition("#")[2], headings, 1, _ALIKE)
        nearest[path, anchor] = f"{path}#{headings[alike[0]]}" if alike else None
    return nearest


def _is_written(document: DocumentRow, anchor: str) -> bool:
    """Whether the anchor names an HTML element of a note, or a heading that is only a link (no heading to `headed`).

    True for a note that cannot be read now.
    """
    content, _ = indexed_content(document)
    if content is None:
        return True
    text = content.decode("utf-8", "replace")
    element = rf"<[^>]*\s(?:id|name)\s*=\s*[\"']?{re.escape(anchor)}[\"'\s>]"
    headings = (line for line in text.splitlines() if line.startswith("#"))
    return re.search(element, text) is not None or any(is_headed(anchor, [line], "") for line in headings)


def _names_below(root: Path) -> Iterator[str]:
    """The names of all files, folded, since a link may consist of only a name."""
    for _, _, names in os.walk(root):
        yield from map(folded, names)


def _is_there(sources: Sources, link: LinkRow, files: frozenset[str]) -> bool:
    """Whether a link means a file or folder that exists but is not indexed."""
    source, relative = sources.place(link.workspace_path)
    name, within = source_and_path(link.target)
    if named := sources.named(name):
        source, relative = named, ""
    wanted = (within if named else link.target).lstrip("/")
    places = (os.path.join(source.root, each) for each in (os.path.join(os.path.dirname(relative), wanted), wanted))
    if any(os.path.lexists(place) or is_there(os.path.normpath(place)) for place in places):
        return True
    return link.kind in ("wikilink", "embed") and folded(wanted.rpartition("/")[2]) in files


def _nearest(link: LinkRow, names: dict[str, str]) -> str | None:
    """The document whose name is most similar to the link's; None if none is similar."""
    from difflib import get_close_matches

    name = last_part(folded(link.target))
    found = [name] if name in names else get_close_matches(name, names, 1, _ALIKE)
    return names[found[0]] if found else None
