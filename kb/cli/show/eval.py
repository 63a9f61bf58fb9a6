"""Evaluation runs as a person reads them: a table of means, one row per group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import click

from kb.cli.output.terminal import plain_line, width_cells
from kb.cli.output.times import local_time
from kb.domain.results.measured import GroupMetrics, Impact, RunRow
from kb.eval.metrics import METRICS
from kb.operations.evaluate.evaluate import RunReport


def show_run(report: RunReport) -> None:
    """Prints a run's metrics, or how far it came."""
    run = report.run
    named = f"  {plain_line(run.name)}" if run.name else ""
    click.echo(f"{plain_line(run.suite)}  {run.mode}  k {run.k}  run {run.run_id[:8]}{named}")
    click.echo()
    for line in aligned(metric_rows(report.groups)):
        click.echo(line)
    click.echo()
    if run.finished_at is None:
        click.echo(f"stopped after {run.answered} of {run.questions} questions; the same call goes on from here")
        return
    resumed = f", {report.resumed} of them asked before" if report.resumed else ""
    click.echo(f"{run.questions} questions{resumed}; files in {report.folder}")


def metric_rows(groups: Sequence[GroupMetrics]) -> list[list[str]]:
    """A header and one row per group; metrics that nothing is known of are left out."""
    shown = [metric for metric in METRICS if any(getattr(group, metric.name) is not None for group in groups)]
    rows = [["", "n", *(metric.label for metric in shown), "p50 ms", "p95 ms"]]
    several = {grouping for grouping in ("lang", "category") if sum(g.grouping == grouping for g in groups) > 1}
    for group in groups:
        if group.grouping != "all" and group.grouping not in several:
            continue
        values = [getattr(group, metric.name) for metric in shown]
        cells = ["–" if value is None else f"{value:.3f}" for value in values]
        label = plain_line(group.label) or group.grouping
        rows.append([label, str(group.questions), *cells, f"{group.latency_p50_ms:.1f}", f"{group.latency_p95_ms:.1f}"])
    return rows


def show_runs(runs: Sequence[RunRow]) -> None:
    """Prints one line a run."""
    if not runs:
        click.echo("no runs yet; kb eval run makes one")
        return
    rows = [["run", "name", "suite", "mode", "k", "questions", "when"]]
    for run in runs:
        asked = str(run.questions) if run.finished_at else f"{run.answered} of {run.questions}"
        named = [run.run_id[:8], plain_line(run.name or ""), plain_line(run.suite)]
        rows.append([*named, run.mode, str(run.k), asked, local_time(run.created_at)])
    for line in aligned(rows):
        click.echo(line)


def aligned(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    """The rows with their columns in line, figures to the right."""
    widths = [max(width_cells(row[at]) for row in rows) for at in range(len(rows[0]))]
    numeric = [all(_is_figure(row[at]) for row in rows[1:]) for at in range(len(rows[0]))]
    for row in rows:
        cells = []
        for cell, width, right in zip(row, widths, numeric, strict=True):
            space = " " * (width - width_cells(cell))
            cells.append(space + cell if right else cell + space)
        yield "  ".join(cells).rstrip()


def _is_figure(cell: str) -> bool:
    return bool(cell) and all(char in "0123456789.+-–−[],< " for char in cell)


def show_impact(found: Sequence[Impact]) -> None:
    """Prints one line for everything cited that is not as it was."""
    if not found:
        click.echo("everything cited is unchanged")
    for each in found:
        now = f" → {plain_line(each.now_at)}" if each.now_at and each.standing == "moved" else ""
        text = plain_line(each.text)
        click.echo(f"{each.standing:<10} {each.kind} {plain_line(each.id)}  {plain_line(each.cited)}{now}  {text}")
