"""Compares two runs of a golden set: by metric, by group, by question.

The view `eval_query_metrics` has the formulas. A mean difference has a paired bootstrap interval and a p-value.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from kb.domain.results.evaluation import Comparison, EvalRun, MeasuredRun, Metric, MetricChange, MovedQuestion

METRICS = (
    Metric("hit_at_1", "hit@1", "share of questions whose first hit is relevant"),
    Metric("hit_at_k", "hit@k", "share of questions with a relevant hit"),
    Metric("mrr", "MRR", "mean of 1 / rank of the first relevant hit"),
    Metric("ndcg_at_10", "nDCG@10", "over documents, gain = grade"),
    Metric("recall_at_k_doc", "recall@k", "share of the expected documents that were found"),
    Metric("precision_at_k_chunk", "precision@k", "share of the k hits that are expected passages"),
    Metric("citation_exactness", "citations", "share of hits whose cited lines hold the passage, no line more"),
    Metric("answer_found", "answer found", "share of questions whose hits hold every must_contain"),
    Metric("refusal_recall", "refused", "share of unanswerable questions that are refused; with answers only"),
    Metric(
        "answer_recall",
        "not refused",
        "share of answerable questions that are not refused: answered, or answered unsurely",
    ),
    Metric("must_contain", "must contain", "share of answers that hold every must_contain"),
    Metric("forbidden", "no forbidden", "share of answers that hold nothing forbidden"),
)

RESAMPLES = 10_000
LEVEL = 0.95
_SEED = 20_090_719
_ROWS_AT_ONCE = 250


class Difference(NamedTuple):
    """A mean paired difference, its interval at LEVEL, and `p_value`: how often chance alone gives one as large."""

    mean: float
    low: float
    high: float
    p_value: float


def paired_difference(differences: Sequence[float]) -> Difference:
    """The mean of paired differences, one per question, with its interval and p-value; deterministic.

    The interval holds the middle 95 % of 10,000 bootstrap means (Efron 1979); the p-value is two-sided, from 10,000
    random changes of sign (Smucker, Allan and Carterette 2007). The questions of a run are taken as a sample.
    """
    import numpy as np

    observed = np.asarray(differences, dtype=np.float64)
    mean = float(observed.mean())
    if not observed.any():
        return Difference(0.0, 0.0, 0.0, 1.0)
    generator = np.random.default_rng(_SEED)
    count = len(observed)
    means = np.empty(RESAMPLES)
    flipped = np.empty(RESAMPLES)
    # Only questions that differ change a mean of flipped signs.
    moved = observed[observed != 0]
    for start in range(0, RESAMPLES, _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        means[rows] = observed[generator.integers(0, count, (_ROWS_AT_ONCE, count))].mean(axis=1)
        signs = generator.integers(0, 2, (_ROWS_AT_ONCE, len(moved))) * 2 - 1
        flipped[rows] = (signs * moved).sum(axis=1) / count
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    as_large = int((np.abs(flipped) >= abs(mean) - 1e-12).sum())
    return Difference(mean, float(low), float(high), (1 + as_large) / (1 + RESAMPLES))


def p_text(p_value: float) -> str:
    """A p-value as text; a very small one is shown as below the smallest that resampling can tell."""
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"


def compare(before: MeasuredRun, after: MeasuredRun, *, tolerance: float) -> Comparison:
    """Compares two runs; questions that only one of them asked are left out."""
    shared = sorted(before.answered.keys() & after.answered.keys())
    changes = _metric_changes(before, after, shared, tolerance)
    regressed = [change.metric.name for change in changes if change.regressed]
    moved = [_moved(query_id, before, after, regressed) for query_id in shared]
    return Comparison(
        before=before,
        after=after,
        tolerance=tolerance,
        obstacles=tuple(_obstacles(before.run, after.run)),
        differs=tuple(_differences(before.run, after.run)),
        metrics=tuple(changes),
        moved=tuple(sorted((m for m in moved if m.change or m.fell), key=lambda m: (-abs(m.change), m.query_id))),
    )


def _moved(query_id: str, before: MeasuredRun, after: MeasuredRun, regressed: Sequence[str]) -> MovedQuestion:
    """A question with those of the `regressed` metrics that fell in it."""
    old, new = before.answered[query_id], after.answered[query_id]
    figures = ((name, getattr(old.metrics, name), getattr(new.metrics, name)) for name in regressed)
    fell = (name for name, was, now in figures if was is not None and now is not None and now < was)
    return MovedQuestion(query_id, old, new, tuple(fell))


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
                *found,
                regressed=found.mean < -tolerance,
            )
        )
    return changes


def _obstacles(before: EvalRun, after: EvalRun) -> list[str]:
    found = [
        f"run {run.label} is not whole: {run.answered} of {run.questions} questions"
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


def _differences(before: EvalRun, after: EvalRun) -> list[str]:
    """The settings and versions that differ, as `key: old → new`."""
    old = {"mode": before.mode, **json.loads(before.config_snapshot_json), **json.loads(before.versions_json)}
    new = {"mode": after.mode, **json.loads(after.config_snapshot_json), **json.loads(after.versions_json)}
    old["commit"], new["commit"] = (before.commit_hash or "")[:10], (after.commit_hash or "")[:10]
    keys = [*old, *(key for key in new if key not in old)]
    return [f"{key}: {_shown(old.get(key))} → {_shown(new.get(key))}" for key in keys if old.get(key) != new.get(key)]


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "none" if value in (None, "") else str(value)
