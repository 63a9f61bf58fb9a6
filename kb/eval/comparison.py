"""What changed from one run of a golden set to another: metric by metric, group by group, question by question."""

from __future__ import annotations

import json
from collections.abc import Sequence

from kb.domain.results.comparison import Comparison, MeasuredRun, MetricChange, MovedQuestion
from kb.domain.results.measured import RunRow
from kb.eval.metrics import METRICS
from kb.eval.significance import paired_difference


def compare(before: MeasuredRun, after: MeasuredRun, *, tolerance: float) -> Comparison:
    """The comparison of two runs; questions that only one of them asked are left out."""
    shared = sorted(before.answered.keys() & after.answered.keys())
    moved = [MovedQuestion(query_id, before.answered[query_id], after.answered[query_id]) for query_id in shared]
    return Comparison(
        before=before,
        after=after,
        tolerance=tolerance,
        obstacles=tuple(_obstacles(before.run, after.run)),
        differs=tuple(_differences(before.run, after.run)),
        metrics=tuple(_metric_changes(before, after, shared, tolerance)),
        moved=tuple(sorted((m for m in moved if m.change), key=lambda m: (-abs(m.change), m.query_id))),
    )


def _metric_changes(
    before: MeasuredRun, after: MeasuredRun, shared: Sequence[str], tolerance: float
) -> list[MetricChange]:
    changes = []
    for metric in METRICS:
        pairs = [
            (old, new)
            for query_id in shared
            if (old := getattr(before.answered[query_id].metrics, metric.name)) is not None
            and (new := getattr(after.answered[query_id].metrics, metric.name)) is not None
        ]
        if not pairs:
            continue
        found = paired_difference([new - old for old, new in pairs])
        changes.append(
            MetricChange(
                metric,
                len(pairs),
                sum(old for old, _ in pairs) / len(pairs),
                sum(new for _, new in pairs) / len(pairs),
                found.mean,
                found.low,
                found.high,
                found.p_value,
                regressed=found.mean < -tolerance,
            )
        )
    return changes


def _obstacles(before: RunRow, after: RunRow) -> list[str]:
    found = [
        f"run {run.name or run.run_id[:8]} is not whole: {run.answered} of {run.questions} questions"
        for run in (before, after)
        if run.finished_at is None
    ]
    if before.corpus_hash != after.corpus_hash:
        found.append("the runs are over different corpora: files were added, changed or removed between them")
    if before.suite_hash != after.suite_hash:
        found.append(f"the runs asked different questions: {before.suite} and {after.suite} are not one golden set")
    if before.k != after.k:
        found.append(f"the runs took different numbers of hits: k {before.k} and {after.k}")
    return found


def _differences(before: RunRow, after: RunRow) -> list[str]:
    """What was set or made otherwise, as `key: old → new`."""
    old = {"mode": before.mode, **json.loads(before.config_snapshot_json), **json.loads(before.versions_json)}
    new = {"mode": after.mode, **json.loads(after.config_snapshot_json), **json.loads(after.versions_json)}
    old["commit"], new["commit"] = (before.commit_hash or "")[:10], (after.commit_hash or "")[:10]
    keys = [*old, *(key for key in new if key not in old)]
    return [f"{key}: {_shown(old.get(key))} → {_shown(new.get(key))}" for key in keys if old.get(key) != new.get(key)]


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "none" if value in (None, "") else str(value)
