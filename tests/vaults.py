"""Vaults that are indexed already, or configured for the fake models."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import apsw
from conftest import Ran, Vault, kb_in
from fake_embedder import PRIMARY

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
