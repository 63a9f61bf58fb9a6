"""Vaults that are indexed already, or configured for the fake models."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
from conftest import NOTES, Ran, Vault, kb_in, make_vault
from fake_embedder import PRIMARY

EMBEDDING = f'cache_dir = "cache"\n[models.embedding]\nmodel = "{PRIMARY}"\n'
"""The end of a configuration whose model is the first of the fake ones."""

PUMP_NOTES = {
    "valve.md": "# Valve\n\nThe pump valve opens in the morning. Marmalade.\n",
    "pump.md": "# Pump\n\nThe pump valve opens at noon, and the pump runs.\n",
    "lamp.md": "# Lamp\n\nThe lamp by the pump is green. Walrus.\n",
}
PUMP_QUESTION = "when does the pump valve open"


def configured_vault(
    directory: Path,
    notes: Mapping[str, str] = NOTES,
    *,
    settings: str = "",
    mode: str = "lexical",
    files: Mapping[str, bytes | Path] | None = None,
) -> Vault:
    """A vault that is not indexed; `settings` end its configuration, `files` are bytes or originals."""
    made = make_vault(directory, notes)
    text = made.config.read_text(encoding="utf-8").replace('mode = "lexical"', f'mode = "{mode}"')
    made.config.write_text(text + settings, encoding="utf-8")
    for name, content in (files or {}).items():
        (made.root / name).parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Path):
            shutil.copy(content, made.root / name)
        else:
            (made.root / name).write_bytes(content)
    return made


def indexed_vault(
    directory: Path,
    notes: Mapping[str, str] = NOTES,
    *,
    settings: str = "",
    mode: str = "lexical",
    files: Mapping[str, bytes | Path] | None = None,
    embed: bool = False,
) -> Vault:
    """The same, indexed; by its words alone unless `embed`."""
    made = configured_vault(directory, notes, settings=settings, mode=mode, files=files)
    ran = kb_in(made)("ingest", *(() if embed else ("--no-embed",)))
    assert ran.code == 0, ran.stderr
    return made


def call(vault: Vault, *args: str, **options: Any) -> Ran:
    """One call of kb on a vault."""
    return kb_in(vault)(*args, **options)


def ids_of(vault: Vault, path: str) -> tuple[str, str]:
    """The ids of a document and its first passage, as the owner sees them."""
    with closing(apsw.Connection(str(vault.sqlite))) as db:
        asked = "SELECT doc_id, chunk_id FROM documents JOIN chunks USING (doc_id) WHERE workspace_path = ?"
        ((doc_id, chunk_id),) = db.execute(asked, (path,))
    return str(doc_id), str(chunk_id)
