"""What source code defines: lists definitions, shows one with the lines that use it."""

from __future__ import annotations

import json

from kb.domain.filters import SearchFilters
from kb.domain.results.symbols import SymbolDetail, SymbolInspection
from kb.domain.text import stored_text
from kb.errors import NotFound
from kb.language.names import dotted
from kb.operations.session.session import Session
from kb.retrieve.filters import eligible_documents
from kb.store import queries


def list_symbols(session: Session, filters: SearchFilters, limit: int | None) -> list[SymbolDetail]:
    """The definitions that pass the filters, by file and line."""
    with session.reading() as base:
        return queries.list_symbols(
            base.db,
            name=None,
            symbol_glob=filters.symbol and stored_text(filters.symbol),
            symbol_kind=filters.symbol_kind,
            doc_ids_json=eligible_documents(base.db, filters),
            row_limit=-1 if limit is None else limit,
        )


def outline(session: Session, path: str) -> list[SymbolDetail]:
    """The definitions in the document at that path, by line. Raises: NotFound."""
    spelled = stored_text(path)
    with session.reading() as base:
        found = queries.find_document_ids(base.db, prefix=spelled)
        doc_id = next((row.id for row in found if row.label == spelled), None)
        if doc_id is None:
            raise NotFound(f"no document {path!r}", "kb list docs shows what is indexed")
        ids = json.dumps([doc_id])
        return queries.list_symbols(
            base.db, name=None, symbol_glob=None, symbol_kind=None, doc_ids_json=ids, row_limit=-1
        )


def inspect_symbol(session: Session, typed: str) -> SymbolInspection:
    """The definitions of a name, plain or qualified (`Foo.bar`, `Foo::bar`), and what uses it. Raises: NotFound."""
    name = dotted(stored_text(typed))
    with session.reading() as base:
        found = queries.list_symbols(
            base.db, name=name, symbol_glob=None, symbol_kind=None, doc_ids_json=None, row_limit=-1
        )
        if not found:
            raise NotFound(f"nothing in the indexed code defines {typed!r}", "kb list symbols shows what is defined")
        names = dict.fromkeys(each.name for each in found)
        uses = [use for each in names for use in queries.list_symbol_uses(base.db, name=each)]
        return SymbolInspection(name, tuple(found), tuple(uses))
