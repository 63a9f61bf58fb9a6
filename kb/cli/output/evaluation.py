"""Prints evaluation runs, comparisons of two runs, and calibrations for people."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import click

from kb.cli.output.printing import BAD, GOOD, Style, echo_table, local_time, styled
from kb.cli.output.terminal import width_cells
from kb.domain.results.evaluation import (
    Answered,
    CalibrationReport,
    Comparison,
    EvalRun,
    GroupMetrics,
    Impact,
    MeasuredRun,
    MovedQuestion,
    RunReport,
)
from kb.domain.text import plain_line
from kb.eval.comparison import METRICS, p_text
from kb.eval.report import verdict_reason

_VERDICTS = {"better": "better", "worse": "WORSE", "undecided": "undecided", "not_comparable": "NOT COMPARABLE"}
_STYLES: dict[str, Style] = {"better": GOOD, "worse": BAD, "undecided": GOOD, "not_comparable": BAD}
_HITS = 5
_COLUMN_CELLS = 46


def show_run(report: RunReport) -> None:
    """Prints a run's metrics, or how far it came."""
    run = report.run
    named = f"  {plain_line(run.name)}" if run.name else ""
    click.echo(f"{plain_line(run.suite)}  {run.mode}  k {run.k}  run {run.run_id[:8]}{named}")
    click.echo()
    echo_table(_metric_rows(report.run.groups))
    click.echo()
    if run.finished_at is None:
        click.echo(f"stopped after {run.answered} of {run.questions} questions; the same call goes on from here")
        return
    resumed = f", {report.resumed} of them asked before" if report.resumed else ""
    click.echo(f"{run.questions} questions{resumed}; files in {report.folder}")


def _metric_rows(groups: Sequence[GroupMetrics]) -> list[list[str]]:
    """The heads and one row per group; metrics without any value are left out."""
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


def show_runs(runs: Sequence[EvalRun]) -> None:
    """Prints one line a run."""
    if not runs:
        click.echo("no runs yet; kb eval run makes one")
        return
    rows = [["run", "name", "suite", "mode", "k", "questions", "when"]]
    for run in runs:
        asked = str(run.questions) if run.finished_at else f"{run.answered} of {run.questions}"
        named = [run.run_id[:8], plain_line(run.name or ""), plain_line(run.suite)]
        rows.append([*named, run.mode, str(run.k), asked, local_time(run.created_at)])
    echo_table(rows)


def show_impact(found: Sequence[Impact]) -> None:
    """Prints one line for each citation whose text moved, changed or vanished."""
    if not found:
        click.echo("everything cited is unchanged")
    for each in found:
        now = f" → {plain_line(each.now_at)}" if each.now_at and each.standing == "moved" else ""
        text = plain_line(each.text)
        click.echo(f"{each.standing:<10} {each.kind} {plain_line(each.id)}  {plain_line(each.cited)}{now}  {text}")


def show_comparison(comparison: Comparison, *, moved: int) -> None:
    """Prints the comparison with the `moved` questions that changed most."""
    before, after = comparison.before.run, comparison.after.run
    click.echo(f"{_name(comparison.before)} → {_name(comparison.after)}   {plain_line(after.suite)}, k {after.k}")
    for line in comparison.differs:
        click.echo(f"  {plain_line(line)}")
    if before.run_id == after.run_id:
        click.echo("  the same run twice")
    click.echo()
    rows = [["", "n", "before", "after", "change", "95 % interval", "p"]]
    for change in comparison.metrics:
        figures = [f"{change.before:.3f}", f"{change.after:.3f}", f"{change.difference:+.3f}"]
        interval = f"[{change.low:+.3f}, {change.high:+.3f}]"
        rows.append([change.metric.label, str(change.questions), *figures, interval, p_text(change.p_value)])
    echo_table(rows)
    for each in comparison.moved[:moved]:
        _show_moved(each, comparison)
    verdict = styled(_VERDICTS[comparison.verdict], _STYLES[comparison.verdict])
    click.echo(f"\n{verdict}: {plain_line(verdict_reason(comparison))}")


def _show_moved(moved: MovedQuestion, comparison: Comparison) -> None:
    fell = [change.metric.label for change in comparison.regressed if change.metric.name in moved.fell]
    about = f"  ({', '.join(fell)} fell)" if fell else ""
    click.echo(f"\n{moved.change:+.3f}  {plain_line(moved.query_id)}  {plain_line(moved.after.query)}{about}")
    hits = zip_longest(_hit_lines(moved.before), _hit_lines(moved.after), fillvalue="")
    for before, after in [(_name(comparison.before), _name(comparison.after)), *hits]:
        cut = _cut(before)
        click.echo(f"  {cut}{' ' * (_COLUMN_CELLS - width_cells(cut))}  {_cut(after)}".rstrip())


def _hit_lines(answered: Answered) -> list[str]:
    return [
        f"{hit.rank:>3} {'✓' if hit.grade else ' '} {plain_line(hit.citation)}" for hit in answered.shown_hits(_HITS)
    ]


def _cut(text: str) -> str:
    """The citation cut to a column's width; its end is kept, which says more than its beginning."""
    if width_cells(text) <= _COLUMN_CELLS:
        return text
    head, tail = text[:6], text[6:]
    while width_cells(head) + 1 + width_cells(tail) > _COLUMN_CELLS:
        tail = tail[1:]
    return f"{head}…{tail}"


def _name(measured: MeasuredRun) -> str:
    return plain_line(measured.run.label)


def show_calibration(report: CalibrationReport) -> None:
    """Prints the shares of questions refused at each gate, and of those answered at each precision."""
    places = f"{report.placed} say where their answer stands"
    click.echo(plain_line(f"{report.asked}, judged by {report.version}"))
    click.echo(f"{report.answerable} answerable questions ({places}), {report.unanswerable} unanswerable\n")
    rows = [["threshold", "kept", "refused", "balanced"]]
    for gate in report.gate.table:
        mark = "*" if gate.threshold == report.score_gate else " "
        rows.append([f"{gate.threshold:.2f}{mark}", f"{gate.kept:.3f}", f"{gate.refused:.3f}", f"{gate.balanced:.3f}"])
    echo_table([*rows, ["AUROC", f"{report.gate.auroc:.3f}", "", ""]], indent="  ")
    click.echo("\nkept: answerable questions; refused: unanswerable ones; * rag.score_gate\n")
    rows = [["precision", "limit", "answered", "right", "in vain"]]
    for point in report.answers:
        mark = "*" if point.precision == report.answer_precision else " "
        limit = "none" if point.limit is None else f"{point.limit:.2f}"
        right = "–" if point.right is None else f"{point.right:.3f}"
        figures = [f"{point.answered:.3f}", right, f"{point.unanswerable:.3f}"]
        rows.append([f"{point.precision:.2f}{mark}", limit, *figures])
    echo_table(rows, indent="  ")
    click.echo("\nanswered: answerable questions that kb stands by an answer to, and right: those of them whose answer")
    click.echo("shows the place named; in vain: unanswerable questions that it answers; * rag.answer_precision")
