"""What the last ingest did, and the files that it could not read, or not wholly."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kb.domain.results.ingest import IngestReport, item_json
from kb.domain.results.inspection import FileProblem, LastIngest
from kb.operations.session.session import Session
from kb.store import queries


class LastRun(NamedTuple):
    """Its counts, and the files there is something to say about."""

    counts: LastIngest
    problems: tuple[FileProblem, ...]


def last_run(session: Session) -> LastRun | None:
    """The last ingest; None before the first."""
    with session.reading() as base:
        found = queries.select_last_ingest(base.db)
    return None if found is None else LastRun(found, _problems(json.loads(found.items_json or "[]")))


def problems_of(report: IngestReport) -> tuple[FileProblem, ...]:
    """The files of a run that there is something to say about: those that were not read first."""
    return _problems(item_json(item) for item in report.items if item.error or item.warnings)


def _problems(items: Iterable[Mapping[str, Any]]) -> tuple[FileProblem, ...]:
    found: list[FileProblem] = []
    for item in items:
        if error := item.get("error"):
            found.append(FileProblem(item["doc_path"], error["message"], error["hint"], is_error=True))
        for warning in item.get("warnings", ()):
            kind, _, note = warning.partition(": ")
            said = f"{kind.replace('_', ' ')}: {note}" if note else kind.replace("_", " ")
            found.append(FileProblem(item["doc_path"], said, None, is_error=False))
    return tuple(sorted(found, key=lambda each: not each.is_error))
