"""The statements of `sql/retrieve` that read source code, and those of `sql/inspect` about its definitions."""

from __future__ import annotations

from kb.domain.results.symbols import SymbolDetail, SymbolUse
from kb.records import NamedTuple
from kb.store.connection import Connection
from kb.store.sqlfile import sql


class CodeRow(NamedTuple):
    """A chunk of source code that a question reaches, and what it defines."""

    chunk_rowid: int
    chunk_id: str
    doc_id: str
    workspace_path: str
    source_path: str
    title: str
    heading_path_json: str
    section_label: str | None
    text: str
    source_spans_json: str
    chunker_version: str
    lexical_score: float
    uses_json: str | None
    by_owner: int | None
    defines_json: str


class CodeCount(NamedTuple):
    """In how many chunks of source code a word occurs."""

    position: int
    chunks: int


class SymbolName(NamedTuple):
    """A name as it is defined; of an object its kind and its name in full, of any other definition neither."""

    name: str
    kind: str | None
    qualified: str | None


class GeneratedDocument(NamedTuple):
    """A document that says that no person wrote it."""

    doc_id: str


@sql("retrieve/search_code.sql")
def search_code(
    db: Connection,
    *,
    match_expr: str,
    names_json: str,
    places_json: str,
    used_json: str,
    owner_expr: str,
    doc_ids_json: str | None,
    passages_json: str | None,
    sought_json: str | None,
    symbol_glob: str | None,
    symbol_kind: str | None,
    depth: int,
) -> list[CodeRow]: ...


@sql("retrieve/select_generated_documents.sql")
def select_generated_documents(db: Connection, *, doc_ids_json: str) -> list[GeneratedDocument]: ...


@sql("retrieve/select_code_counts.sql")
def select_code_counts(db: Connection, *, words_json: str) -> list[CodeCount]: ...


@sql("retrieve/select_symbol_names.sql")
def select_symbol_names(db: Connection, *, names_json: str, objects_json: str) -> list[SymbolName]: ...


@sql("inspect/list_symbols.sql")
def list_symbols(
    db: Connection,
    *,
    name: str | None,
    symbol_glob: str | None,
    symbol_kind: str | None,
    doc_ids_json: str | None,
    row_limit: int,
) -> list[SymbolDetail]: ...


@sql("inspect/list_symbol_uses.sql")
def list_symbol_uses(db: Connection, *, name: str) -> list[SymbolUse]: ...
