"""Notes which git repository each source file is of, and what those are at."""

from __future__ import annotations

import os

from kb.operations.ingest.run import IngestRun
from kb.scan.git import FoundRepository, read_repository, top_of
from kb.store import queries
from kb.store.connection import transaction


def note_repositories(run: IngestRun) -> None:
    """Brings the repositories of all indexed source files up to date; what cannot be read of one is a note."""
    rows = queries.select_code_places(run.db)
    if not rows:
        with transaction(run.db):
            queries.delete_unused_repositories(run.db)
        return
    tops: dict[str, str | None] = {}
    found: dict[str, FoundRepository] = {}
    places: list[tuple[str, str | None, str | None]] = []
    for row in rows:
        folder = os.path.dirname(row.source_path)
        if folder not in tops:
            tops[folder] = top_of(folder)
        top = tops[folder]
        if top is not None and top not in found:
            found[top] = read_repository(top)
        places.append((row.doc_id, None if top is None else found[top].repository.path, row.repository_path))
    with transaction(run.db):
        for each in found.values():
            repository = each.repository
            queries.upsert_repository(
                run.db,
                path=repository.path,
                name=repository.name,
                branch=repository.branch,
                commit_id=repository.commit,
                read_at=run.report.started_at,
            )
        for doc_id, now, before in places:
            if now != before:
                queries.update_document_repository(run.db, doc_id=doc_id, repository_path=now)
        queries.delete_unused_repositories(run.db)
    for each in found.values():
        if each.fault is not None:
            run.report.notes.append(f"the git repository {each.repository.path} cannot be read: {each.fault}")
