"""Leaves a run's files in its folder: per_query.jsonl for programs, report.md for people (frozen design §6.3)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from kb.domain.results.measured import GroupMetrics, RunRow
from kb.errors import StoreReadOnly
from kb.eval.metrics import METRICS
from kb.private import make_private_folder
from kb.store import queries


def write_run_files(
    folder: Path, run: RunRow, groups: Sequence[GroupMetrics], results: Iterable[queries.ResultRow]
) -> None:
    """Writes both files of a run.

    Raises: StoreReadOnly.
    """
    try:
        make_private_folder(folder)
        (folder / "report.md").write_text(report_page(run, groups), encoding="utf-8")
        with (folder / "per_query.jsonl").open("w", encoding="utf-8") as file:
            for result in results:
                line = {"query_id": result.query_id, **json.loads(result.result_json)}
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
    except OSError as error:
        raise StoreReadOnly(f"{folder} cannot be written: {error.strerror}", "set storage.runs_dir") from error


def report_page(run: RunRow, groups: Sequence[GroupMetrics]) -> str:
    """The run's mean metrics as Markdown, of all questions and of each group."""
    head = f"# {run.name or run.run_id[:8]}: {run.suite}\n\n{run.mode}, k = {run.k}, {run.created_at}\n\n"
    return head + markdown_table(groups) + f"\n\n```json\n{run.versions_json}\n{run.config_snapshot_json}\n```\n"


def markdown_table(groups: Sequence[GroupMetrics]) -> str:
    """One row per group; metrics that no question says anything about are left out."""
    shown = [metric for metric in METRICS if any(getattr(group, metric.name) is not None for group in groups)]
    columns = ["questions", *(metric.label for metric in shown), "p50 ms", "p95 ms"]
    lines = ["| | " + " | ".join(columns) + " |", "| --- |" + " ---: |" * len(columns)]
    for group in groups:
        values = [getattr(group, metric.name) for metric in shown]
        cells = [str(group.questions), *("" if value is None else f"{value:.4f}" for value in values)]
        cells += [f"{group.latency_p50_ms:.1f}", f"{group.latency_p95_ms:.1f}"]
        lines.append(f"| {group.label or group.grouping} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
