"""Stores the names of documents and the links of notes, from which `sql/inspect/list_links.sql` resolves links."""

from __future__ import annotations

import json
from collections.abc import Iterable

import apsw

from kb.language.links import links_of, names_of
from kb.store import queries


def put_links(
    db: apsw.Connection, doc_id: str, workspace_path: str, relative_path: str, aliases: Iterable[str], note: str | None
) -> None:
    """Stores the names of a document, and the links in its text if it is a note.

    A document of a further source is also named by its path in that source, and its links start from its folder there.
    """
    names = names_of((workspace_path, relative_path), aliases, is_note=note is not None)
    queries.insert_document_names(
        db,
        [{"doc_id": doc_id, "name": each.name, "path": each.path, "is_alias": int(each.is_alias)} for each in names],
    )
    links = links_of(note or "", relative_path, prefix=workspace_path.removesuffix(relative_path))
    queries.insert_links(
        db,
        (
            {
                "doc_id": doc_id,
                "position": position,
                "line": each.line,
                "kind": each.kind,
                "target": each.target,
                "anchor": each.anchor,
                "name": each.name,
                "path": each.path,
                "beside": each.beside,
                "source": each.source,
            }
            for position, each in enumerate(links)
        ),
    )


def fill_links(db: apsw.Connection) -> None:
    """Stores names and links of all documents in a file of an older kb, from the text of its passages."""
    for row in list(queries.select_notes_to_link(db)):
        lines: dict[int, str] = {}
        for first, text in json.loads(row.chunks_json):
            lines.update(enumerate(text.split("\n"), first))
        text = "\n".join(lines.get(line, "") for line in range(1, max(lines, default=0) + 1))
        note = text if row.media_type == "markdown" else None
        put_links(db, row.doc_id, row.workspace_path, row.workspace_path, json.loads(row.aliases_json), note)
