"""The statements of `sql/retrieve`: what a question reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import apsw

from kb.store.sqlfile import sql


class LexicalRow(NamedTuple):
    """One hit of the lexical channel."""

    rank: int
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


class KoreanUnitRow(NamedTuple):
    """One reading of a written Korean unit."""

    surface: str
    morphemes: str
    occurrences: int


class KoreanUnitTotal(NamedTuple):
    """The sum of all units' counts."""

    total: int


class DocumentPath(NamedTuple):
    """One document and its path."""

    doc_id: str
    workspace_path: str


@sql("retrieve/search_lexical.sql")
def search_lexical(
    db: apsw.Connection,
    *,
    match_expr: str,
    filtered: int,
    tags_json: str | None,
    lang: str | None,
    doc_ids_json: str | None,
    trust_json: str | None,
    media: str | None,
    depth: int,
    k: int,
) -> list[LexicalRow]: ...


@sql("retrieve/select_korean_units.sql")
def select_korean_units(db: apsw.Connection, *, surfaces_json: str) -> list[KoreanUnitRow]: ...


@sql("retrieve/select_korean_unit_total.sql")
def select_korean_unit_total(db: apsw.Connection) -> KoreanUnitTotal | None: ...


@sql("retrieve/select_document_paths.sql")
def select_document_paths(db: apsw.Connection) -> Iterator[DocumentPath]: ...
