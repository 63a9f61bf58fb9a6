"""The statements of `sql/eval`: what an evaluation writes and reads."""

from __future__ import annotations

from typing import NamedTuple

from kb.domain.results.measured import GroupMetrics, QueryMetrics, RunRow
from kb.store.connection import Connection
from kb.store.sqlfile import sql


class AnsweredRow(NamedTuple):
    """A question a run has asked."""

    query_id: str


class ResultRow(NamedTuple):
    """What a question found."""

    query_id: str
    result_json: str


class CorpusRow(NamedTuple):
    """A file and its content."""

    workspace_path: str
    asset_id: str


class PassageRow(NamedTuple):
    """A passage and its lines."""

    workspace_path: str
    source_path: str
    doc_id: str
    chunk_id: str
    line_start: int | None
    line_end: int | None


class PathOfId(NamedTuple):
    """Where a document or passage stands."""

    id: str
    workspace_path: str


class IndexVersions(NamedTuple):
    """What made the index."""

    parsers_json: str
    chunkers_json: str
    policies_json: str


class PassageText(NamedTuple):
    """A passage, verbatim."""

    chunk_id: str
    text: str


@sql("eval/insert_run.sql")
def insert_run(
    db: Connection,
    *,
    run_id: str,
    suite: str,
    config_snapshot_json: str,
    commit_hash: str | None,
    created_at: str,
    name: str | None,
    mode: str,
    k: int,
    questions: int,
    suite_hash: str,
    corpus_hash: str,
    corpus_revision: int,
    versions_json: str,
) -> None: ...


@sql("eval/finish_run.sql")
def finish_run(db: Connection, *, aggregate_json: str, finished_at: str, run_id: str) -> None: ...


@sql("eval/delete_run.sql")
def delete_run(db: Connection, *, run_id: str) -> None: ...


@sql("eval/select_runs.sql")
def select_runs(db: Connection) -> list[RunRow]: ...


@sql("eval/insert_query_result.sql")
def insert_query_result(db: Connection, *, run_id: str, query_id: str, result_json: str) -> None: ...


@sql("eval/select_answered.sql")
def select_answered(db: Connection, *, run_id: str) -> list[AnsweredRow]: ...


@sql("eval/select_results.sql")
def select_results(db: Connection, *, run_id: str) -> list[ResultRow]: ...


@sql("eval/select_corpus.sql")
def select_corpus(db: Connection) -> list[CorpusRow]: ...


@sql("eval/select_passages.sql")
def select_passages(db: Connection, *, paths_json: str) -> list[PassageRow]: ...


@sql("eval/select_paths_of_ids.sql")
def select_paths_of_ids(db: Connection, *, ids_json: str) -> list[PathOfId]: ...


@sql("eval/select_index_versions.sql")
def select_index_versions(db: Connection) -> IndexVersions | None: ...


@sql("eval/select_texts.sql")
def select_texts(db: Connection, *, ids_json: str) -> list[PassageText]: ...


@sql("eval/select_query_metrics.sql")
def select_query_metrics(db: Connection, *, run_id: str) -> list[QueryMetrics]: ...


@sql("eval/select_group_metrics.sql")
def select_group_metrics(db: Connection, *, run_id: str) -> list[GroupMetrics]: ...
