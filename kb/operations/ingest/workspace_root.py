"""Keeps one knowledge base to one workspace: what is in no file of another folder would be removed as deleted."""

from __future__ import annotations

import os
from pathlib import Path

from kb.errors import OtherWorkspace
from kb.store import queries
from kb.store.connection import Connection


def require_same_root(db: Connection, root: Path) -> None:
    """Raises OtherWorkspace where the documents were indexed from another folder than `root`."""
    found = queries.select_workspace_root(db)
    if found is None or found.root is None or os.path.realpath(found.root) == os.path.realpath(root):
        return
    raise OtherWorkspace(
        f"this knowledge base was made from {found.root}, and the workspace is {root} now",
        "moved or renamed the folder? kb ingest --moved goes on with the new place; for a second knowledge base: "
        "kb --config OTHER.toml init --root DIR gives it a data directory of its own",
    )


def note_root(db: Connection, root: Path) -> None:
    """Notes which folder the documents are indexed from, before the first of them is stored."""
    found = queries.select_workspace_root(db)
    if found is None or found.root != str(root):
        queries.upsert_workspace_root(db, root=str(root))
