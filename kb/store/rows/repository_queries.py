"""The statements about git repositories: which file is of which, and what they are at."""

from __future__ import annotations

from kb.records import NamedTuple
from kb.store.connection import Connection
from kb.store.sqlfile import sql


class CodePlace(NamedTuple):
    """Where a source file is, and the checkout it is known to be of."""

    doc_id: str
    source_path: str
    repository_path: str | None


class RepositoryRow(NamedTuple):
    """The repository of a document."""

    doc_id: str
    path: str
    name: str
    branch: str | None
    commit_id: str | None
    is_dirty: int | None


@sql("ingest/select_code_places.sql")
def select_code_places(db: Connection) -> list[CodePlace]: ...


@sql("ingest/upsert_repository.sql")
def upsert_repository(
    db: Connection,
    *,
    path: str,
    name: str,
    branch: str | None,
    commit_id: str | None,
    is_dirty: int | None,
    read_at: str,
) -> None: ...


@sql("ingest/update_document_repository.sql")
def update_document_repository(db: Connection, *, doc_id: str, repository_path: str | None) -> None: ...


@sql("ingest/delete_unused_repositories.sql")
def delete_unused_repositories(db: Connection) -> None: ...


@sql("retrieve/select_repositories.sql")
def select_repositories(db: Connection, *, doc_ids_json: str) -> list[RepositoryRow]: ...
