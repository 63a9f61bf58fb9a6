"""The statements of `sql/fetch`: what stands around a passage, and which corpus a cursor was given for."""

from __future__ import annotations

from typing import NamedTuple

import apsw

from kb.store.sqlfile import sql


class CorpusRevision(NamedTuple):
    """How often the corpus has changed."""

    corpus_revision: int


class PassagePlace(NamedTuple):
    """Where a passage stands in its document."""

    chunk_id: str
    citation: str
    heading_path_json: str
    source_spans_json: str
    line_start: int | None
    line_end: int | None


@sql("fetch/select_corpus_revision.sql")
def select_corpus_revision(db: apsw.Connection) -> CorpusRevision | None: ...


@sql("fetch/select_passages_of.sql")
def select_passages_of(db: apsw.Connection, *, doc_id: str) -> list[PassagePlace]: ...
