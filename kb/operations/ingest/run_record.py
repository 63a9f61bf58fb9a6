"""Keeps the record of each ingest in `ingest_runs`."""

from __future__ import annotations

import json

from kb.domain.ids import id_from
from kb.domain.results.ingest import IngestReport, ItemLog, item_json
from kb.store import queries
from kb.store.connection import Connection

# A run that changed more files keeps only those with something to say about them: the rows would be as large as the
# run, and the documents themselves tell what it did.
ITEMS_KEPT = 1_000


def record_run(db: Connection, report: IngestReport) -> None:
    """Writes one row of `ingest_runs`; its items are the files that changed or failed."""
    counts = report.counts
    scope = {"root": report.root, "include": report.include, "exclude": report.exclude}
    queries.insert_ingest_run(
        db,
        run_id=id_from({"kind": "ingest_run", "root": report.root, "started_at": report.started_at}),
        scope_json=json.dumps(scope, ensure_ascii=False),
        scanned=counts.scanned,
        new_count=counts.new,
        updated_count=counts.updated,
        skipped_count=counts.skipped,
        error_count=counts.errors,
        duration_ms=report.duration_ms,
        started_at=report.started_at,
        finished_at=report.finished_at,
        items_json=_items_json(report.items),
        unchanged_count=counts.unchanged,
        moved_count=counts.moved,
        removed_count=counts.removed,
        aborted=int(report.aborted),
    )


def _items_json(items: ItemLog) -> str | None:
    keeps_all = len(items) <= ITEMS_KEPT
    kept = [item_json(item) for item in items if keeps_all or item.error or item.warnings]
    return json.dumps(kept, ensure_ascii=False) if kept else None
