"""Holds two evaluation runs against each other: `kb eval compare`."""

from __future__ import annotations

import json
from pathlib import Path

from kb.domain.results.comparison import Answered, Comparison, Hit, MeasuredRun
from kb.domain.results.measured import RunRow
from kb.errors import NotFound, UsageError
from kb.eval.comparison import compare
from kb.eval.report_html import comparison_page
from kb.operations.evaluate.runs import find_run
from kb.operations.session.session import Session
from kb.private import open_for_user
from kb.store import queries
from kb.store.connection import Connection


def compare_runs(session: Session, before: str | None, after: str | None, *, tolerance: float) -> Comparison:
    """The comparison of two runs by their names or ids; of the newest two of one golden set where none is named.

    Raises: NotFound.
    """
    with session.reading_views() as base:
        runs = queries.select_runs(base.db)
        if not runs:
            raise NotFound("there are no evaluation runs yet", "kb eval run makes one")
        new = find_run(runs, after) if after else runs[0]
        if before:
            old = find_run(runs, before)
        else:
            older = [run for run in runs if run.suite == new.suite and run.run_no < new.run_no]
            if not older:
                raise NotFound(
                    f"no earlier run of {new.suite} to compare with", "name two runs; kb eval list shows them"
                )
            old = older[0]
        return compare(_measured(base.db, old), _measured(base.db, new), tolerance=tolerance)


def write_report(comparison: Comparison, file: Path) -> None:
    """Writes a comparison as one self-contained HTML page.

    Raises: UsageError where the file cannot be written.
    """
    try:
        with open_for_user(file) as page:
            page.write(comparison_page(comparison))
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}", "name another file with --report") from error


def _measured(db: Connection, run: RunRow) -> MeasuredRun:
    results = {row.query_id: json.loads(row.result_json) for row in queries.select_results(db, run_id=run.run_id)}
    answered = {
        metrics.query_id: Answered(
            results[metrics.query_id]["query"],
            metrics,
            tuple(
                Hit(hit["rank"], hit["citation"], hit["grade"], hit["score"])
                for hit in results[metrics.query_id]["hits"]
            ),
        )
        for metrics in queries.select_query_metrics(db, run_id=run.run_id)
        if metrics.query_id in results  # on the page some questions may be hidden
    }
    return MeasuredRun(run, tuple(queries.select_group_metrics(db, run_id=run.run_id)), answered)
