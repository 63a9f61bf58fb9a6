"""The label of the lexical index: it changes when the way text is indexed or ranked does."""

from __future__ import annotations

from kb.domain.ids import content_hash
from kb.language.korean import analysis_version
from kb.store import schema_queries as queries
from kb.store.connection import Connection
from kb.store.migrate import repeatable_hash
from kb.store.schema_version import latest_version, schema_state
from kb.store.sqlfile import sql_text

_LABEL_CHARS = 8


def index_version() -> str:
    """`v<schema>-<hash>` over the triggers that index, the statement that ranks and the morpheme analyser."""
    parts = (repeatable_hash(), sql_text("retrieve/search_lexical.sql"), analysis_version())
    return f"v{latest_version()}-{content_hash(chr(0).join(parts).encode())[:_LABEL_CHARS]}"


def stamp_index_version(db: Connection) -> None:
    """Writes the label to `schema_meta` where it is another one."""
    label = index_version()
    if schema_state(db).index_version != label:
        queries.upsert_meta(db, key="index_version", value=label)
