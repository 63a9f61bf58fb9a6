"""A knowledge base of very many documents, made in the database itself: notes with an own text each, in folders."""

from __future__ import annotations

from pathlib import Path

import apsw
from conftest import Vault, kb_in, make_vault

from kb.store.connection import open_writer, transaction

PER_FOLDER = 1_000

# Every column is that of a document which was really read, but what names it, where it lies and what it says.
_COPIES = """
WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :count)
INSERT INTO {table} ({columns})
SELECT {values} FROM numbers, (SELECT * FROM {table} LIMIT 1)
"""
_PATH = "printf('part-%03d/note-%06d.md', n / 1000, n)"
_TEXT = (
    "printf('Note %d speaks of a %s and of a %s.', n, "
    "substr('herontigerotterlemurgeckobison', 1 + 5 * (n % 6), 5), "
    "substr('pumpslampsboatsropessails', 1 + 5 * (n % 5), 5))"
)
_OWN = {
    "assets": {"asset_id": "printf('%032x', n)", "workspace_path": _PATH, "source_uri": _PATH},
    "documents": {
        "doc_id": "printf('d%031x', n)",
        "asset_id": "printf('%032x', n)",
        "workspace_path": _PATH,
        "title": "printf('Note %d', n)",
        "source_path": _PATH,
        "created_at": "printf('20%02d-%02d-01T00:00:00Z', 10 + n % 15, 1 + n % 12)",
    },
    "chunks": {
        "chunk_rowid": "1000 + n",
        "chunk_id": "printf('c%031x', n)",
        "doc_id": "printf('d%031x', n)",
        "text": _TEXT,
    },
}


def many_documents(directory: Path, count: int) -> Vault:
    """A vault of one note on the disk, and `count` more that the database alone holds."""
    made = make_vault(directory, {"first.md": "# First\n\nThe first note stands alone.\n"})
    assert kb_in(made)("ingest", "--no-embed").code == 0
    db = open_writer(made.sqlite)
    try:
        with transaction(db):
            for table, own in _OWN.items():
                _copy(db, table, own, count)
    finally:
        db.close()
    return made


def _copy(db: apsw.Connection, table: str, own: dict[str, str], count: int) -> None:
    names = [
        str(name)
        for name, hidden in db.execute(f"SELECT name, hidden FROM pragma_table_xinfo('{table}')")
        if not hidden
    ]
    statement = _COPIES.format(
        table=table,
        columns=", ".join(names),
        values=", ".join(own.get(name, name) for name in names),
    )
    db.execute(statement, {"count": count}).fetchall()
