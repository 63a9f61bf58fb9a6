"""Stores the git repository of each document in a checkout, and when its file was last committed and by whom.

The history of a checkout is read when its commit is another one than at the last reading, and for files that are older
than that reading and were not indexed then.
"""

from __future__ import annotations

import json
import os
from time import time_ns

from kb.operations.ingest.requests import IngestRun
from kb.scan.git import Commit, commit_at, last_commits, read_repository, top_of
from kb.scan.read import place_in_archive
from kb.store import queries
from kb.store.connection import transaction

_UNKNOWN = Commit("", "")


def note_repositories(run: IngestRun) -> None:
    """Updates the stored repositories of all indexed source files; adds a note for one that cannot be read."""
    rows = queries.select_code_places(run.db)
    folders = dict.fromkeys(os.path.dirname(row.source_path) for row in rows)
    tops = {folder: None if place_in_archive(f"{folder}/") else top_of(folder) for folder in folders}
    found = {top: read_repository(top) for top in dict.fromkeys(tops.values()) if top is not None}
    with transaction(run.db):
        for repository, _ in found.values():
            queries.upsert_repository(
                run.db,
                path=repository.path,
                name=repository.name,
                branch=repository.branch,
                commit_id=repository.commit,
                read_at=run.report.started_at,
            )
        for row in rows:
            top = tops[os.path.dirname(row.source_path)]
            path = found[top][0].path if top is not None else None
            if path != row.repository_path:
                queries.update_document_repository(run.db, doc_id=row.doc_id, repository_path=path)
        queries.delete_unused_repositories(run.db)
    for repository, fault in found.values():
        if fault is not None:
            run.report.notes.append(f"the git repository {repository.path} cannot be read: {fault}")


def note_commits(run: IngestRun) -> None:
    """Updates the last commits of documents; a note names each checkout whose commits cannot be read."""
    db = run.db
    logs = {each.path: each for each in queries.select_commit_logs(db)}
    checkouts: dict[str, list[queries.CommitFolder]] = {}
    for each in queries.select_commit_folders(db):
        if (top := top_of(each.folder.rstrip("/") or "/")) is not None:
            checkouts.setdefault(top, []).append(each)
    for top in logs.keys() - checkouts.keys():
        with transaction(db):
            queries.delete_commit_log(db, path=top)
    for top, folders in checkouts.items():
        head, log = commit_at(top), logs.get(top)
        newer = (each.oldest_ns for each in folders if each.oldest_ns is not None)
        if head is None or (
            log is not None and log.commit_id == head and min(newer, default=log.read_at_ns) >= log.read_at_ns
        ):
            continue
        fault = _read(run, top, head, [each.folder for each in folders])
        if fault is not None and (log is None or log.commit_id):
            run.report.notes.append(f"when the files of the git repository {top} were committed is not known: {fault}")


def _read(run: IngestRun, top: str, head: str, folders: list[str]) -> str | None:
    """Reads and stores the commits of the documents in these folders of a checkout; the fault, if any."""
    rows = queries.select_commits(run.db, folders_json=json.dumps(folders))
    documents = {each: each.source_path[len(os.path.join(top, "")) :] for each in rows}
    read_at_ns = time_ns()
    commits = last_commits(top, set(documents.values()))
    with transaction(run.db):
        for document, path in documents.items():
            at, by = commits.found.get(path, _UNKNOWN) if commits else (document.committed_at, document.committed_by)
            if (document.committed_at, document.committed_by) != (at, by):
                queries.update_document_commit(run.db, doc_id=document.doc_id, committed_at=at, committed_by=by)
        queries.upsert_commit_log(run.db, path=top, commit_id=head if commits else "", read_at_ns=read_at_ns)
    return commits.fault if commits else "git is not there, or refuses it: git -C PATH log says why"
