"""What a place may be that somebody has begun to type: paths of documents, names of definitions."""

from __future__ import annotations

from kb.domain.symbols import shown_name
from kb.domain.text import stored_text
from kb.operations.session.session import Session
from kb.store import queries


def complete_path(session: Session, typed: str, limit: int) -> list[str]:
    """Paths that hold what was typed, the shortest first."""
    with session.reading() as base, base.snapshot():
        rows = queries.complete_paths(base.db, typed=stored_text(typed), row_limit=limit)
        return [row.workspace_path for row in rows]


def complete_symbol(session: Session, typed: str, limit: int) -> list[str]:
    """Names of definitions that begin with what was typed."""
    glob = "".join(f"[{char}]" if char in "*?[" else char for char in stored_text(typed)) + "*"
    with session.reading() as base, base.snapshot():
        rows = queries.list_symbols(
            base.db, name=None, symbol_glob=glob, symbol_kind=None, doc_ids_json=None, row_limit=20 * limit
        )
        return list(dict.fromkeys(shown_name(row.qualified_name, row.path) for row in rows))[:limit]
