"""Vaults that are indexed already, or configured for the fake models."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from conftest import Ran, Vault, kb_in
from fake_embedder import PRIMARY

from kb.store import connection
from kb.store import migrate as migrating
from kb.store.connection import (
    APPLICATION_ID,
    Migration,
    latest_version,
    migrations,
)

EMBEDDING = f'cache_dir = "cache"\n[models.embedding]\nmodel = "{PRIMARY}"\n'
"""The end of a configuration whose model is the first of the fake ones."""

PUMP_NOTES = {
    "valve.md": "# Valve\n\nThe pump valve opens in the morning. Marmalade.\n",
    "pump.md": "# Pump\n\nThe pump valve opens at noon, and the pump runs.\n",
    "lamp.md": "# Lamp\n\nThe lamp by the pump is green. Walrus.\n",
}
PUMP_QUESTION = "when does the pump valve open"


def call(vault: Vault, *args: str, **options: Any) -> Ran:
    """One call of kb on a vault."""
    return kb_in(vault)(*args, **options)


def ids_of(vault: Vault, path: str) -> tuple[str, str]:
    """The ids of a document and its first passage, as the owner sees them."""
    with closing(apsw.Connection(str(vault.sqlite))) as db:
        asked = "SELECT doc_id, chunk_id FROM documents JOIN chunks USING (doc_id) WHERE workspace_path = ?"
        ((doc_id, chunk_id),) = db.execute(asked, (path,))
    return str(doc_id), str(chunk_id)


def legacy_v1(path: Path) -> None:
    """A file as the first release made it, with one document in it: history, so its text is the migration's own."""
    db = apsw.Connection(str(path))
    db.execute(migrations()[0].path.read_text(encoding="utf-8"))
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(
        """
        INSERT INTO schema_meta VALUES ('schema_version', '1'), ('repeatable_hash', 'old');
        INSERT INTO migrations VALUES (1, '2026-01-01T00:00:00Z', 'init');
        CREATE VIEW document_overview AS SELECT doc_id FROM documents;
        INSERT INTO assets VALUES ('a1', '/a.md', 'a.md', 'markdown', 9, 'c', 'copied', '/c', '2026-01-01T00:00:00Z');
        INSERT INTO documents VALUES (
          'd1', 'a1', 'a.md', 'A', 'ko', 'note', 'primary', 'p', 1, 1, '{}', '{}', '2026', '2026', '/a.md', 9, 1, 'v'
        );
        """
    )
    db.close()


@pytest.fixture
def next_migration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Migration:
    """A kb one schema ahead of this one."""
    path = tmp_path / "next.sql"
    path.write_text("CREATE TABLE added (x INTEGER) STRICT;", encoding="utf-8")
    ahead = Migration(latest_version() + 1, "add a table", path)
    known = (*migrations(), ahead)
    monkeypatch.setattr(connection, "migrations", lambda: known)
    monkeypatch.setattr(migrating, "migrations", lambda: known)
    return ahead
