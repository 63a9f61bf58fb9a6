"""A calibration of the score gate as a person reads it: what it is now and refitted, a table a search mode."""

from __future__ import annotations

import click

from kb.cli.output.terminal import plain_line
from kb.cli.show.eval import aligned
from kb.domain.results.calibration import CalibrationReport, GatePoint, ModeFit
from kb.eval.calibration import LEAST_QUESTIONS


def show_calibration(report: CalibrationReport) -> None:
    """Prints for each search mode how well the gate tells the questions apart, now and refitted."""
    click.echo(plain_line(report.fitted_on))
    for mode in report.modes:
        click.echo(f"\n{mode.mode} search: {mode.answerable} answerable, {mode.unanswerable} unanswerable questions")
        for line in aligned(_channel_rows(mode)):
            click.echo(f"  {line}".rstrip())
        click.echo()
        for line in aligned(_gate_rows(mode, report.score_gate)):
            click.echo(f"  {line}".rstrip())
    click.echo("\nkept: answerable questions; refused: unanswerable ones; * rag.score_gate")
    if any(mode.fitted for mode in report.modes):
        click.echo("refitted is measured on questions the fit did not see (a fifth at a time)")


def _channel_rows(mode: ModeFit) -> list[list[str]]:
    rows = [["channel", "answerable", "unanswerable", "now", ""]]
    for fit in mode.channels:
        outcome = "refitted" if fit.fitted else f"too few to refit: it takes {LEAST_QUESTIONS} of each"
        now = f"{fit.current.version} ({fit.current.origin})"
        rows.append([fit.channel, str(fit.answerable), str(fit.unanswerable), now, outcome])
    return rows


def _gate_rows(mode: ModeFit, score_gate: float) -> list[list[str]]:
    columns = ["kept", "refused", "balanced"]
    sides = [mode.current, *([mode.fitted] if mode.fitted else [])]
    rows = [["threshold", *columns, *(f"refitted: {name}" for name in columns if mode.fitted)]]
    for points in zip(*(side.table for side in sides), strict=True):
        mark = "*" if points[0].threshold == score_gate else " "
        rows.append([f"{points[0].threshold:.2f}{mark}", *(cell for point in points for cell in _cells(point))])
    rows.append(["AUROC", *(cell for side in sides for cell in (f"{side.auroc:.3f}", "", ""))])
    return rows


def _cells(point: GatePoint) -> tuple[str, str, str]:
    return f"{point.kept:.3f}", f"{point.refused:.3f}", f"{point.balanced:.3f}"
