"""Stores of each document in a git checkout when its file was last committed, and by whom.

The history of a checkout is read when its commit is another one than at the last reading, and for files that are older
than that reading and were not indexed then.
"""

from __future__ import annotations

import json
import os
from time import time_ns

from kb.operations.ingest.requests import IngestRun
from kb.scan.git import commit_at, top_of
from kb.scan.git_log import Commit, last_commits
from kb.store import queries
from kb.store.connection import transaction

_UNKNOWN = Commit("", "")


def note_commits(run: IngestRun) -> None:
    """Updates what is stored of commits; a note says of which checkouts they cannot be read, once for each."""
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
    documents = {each: each.source_path[len(os.path.join(top, "")) :] for each in _documents(run, folders)}
    read_at_ns = time_ns()
    commits = last_commits(top, set(documents.values()))
    with transaction(run.db):
        for document, path in documents.items():
            at, by = commits.found.get(path, _UNKNOWN) if commits else (document.committed_at, document.committed_by)
            if (document.committed_at, document.committed_by) != (at, by):
                queries.update_document_commit(run.db, doc_id=document.doc_id, committed_at=at, committed_by=by)
        queries.upsert_commit_log(run.db, path=top, commit_id=head if commits else "", read_at_ns=read_at_ns)
    return commits.fault if commits else "git is not there, or refuses it: git -C PATH log says why"


def _documents(run: IngestRun, folders: list[str]) -> list[queries.DocumentCommit]:
    return queries.select_commits(run.db, folders_json=json.dumps(folders))
