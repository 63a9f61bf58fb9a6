"""The label of what the lexical index is built by: its table, tokenizer, view and triggers as the file has them."""

from __future__ import annotations

import apsw

from kb.domain.ids import content_hash
from kb.store import queries
from kb.store.bare_sql import bare_sql

_LABEL_CHARS = 8

# Definitions, and the later one that builds the same rows of what they indexed and is only written otherwise.
_WRITTEN_ANEW = {"fts-2a38f465": "fts-a6e85fe5", "fts-93a400b8": "fts-a6e85fe5"}


def defined_fts_version(db: apsw.Connection) -> str:
    """`fts-<hash>` of the definition in the file, comments left out; '' where there is none yet."""
    statements = [bare_sql(row.statement) for row in queries.select_fts_definition(db)]
    return f"fts-{content_hash(chr(0).join(statements).encode())[:_LABEL_CHARS]}" if statements else ""


def builds_same_rows(db: apsw.Connection, version: str) -> bool:
    """Whether the definition in the file builds the rows that the one of that label built; '' built none."""
    return defined_fts_version(db) in (version, _WRITTEN_ANEW.get(version)) or not version


def build_fts(db: apsw.Connection) -> None:
    """Builds the rows of the lexical index again from the chunks and notes by which definition; in a transaction."""
    queries.rebuild_fts(db)
    note_fts_version(db)


def note_fts_version(db: apsw.Connection) -> None:
    """Notes that the rows of the lexical index were built by the definition in the file."""
    queries.upsert_meta(db, key="fts_version", value=defined_fts_version(db))
