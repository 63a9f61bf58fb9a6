"""A calibration as a person reads it: what each gate refuses, and what each precision answers."""

from __future__ import annotations

import click

from kb.cli.output.terminal import plain_line
from kb.cli.show.eval import aligned
from kb.domain.results.calibration import AnswerPoint, CalibrationReport


def show_calibration(report: CalibrationReport) -> None:
    """Prints how well the questions are told apart, and what is answered of them."""
    places = f"{report.placed} say where their answer stands"
    click.echo(plain_line(f"{report.asked}, judged by {report.version}"))
    click.echo(f"{report.answerable} answerable questions ({places}), {report.unanswerable} unanswerable\n")
    _show_table(_gate_rows(report))
    click.echo("\nkept: answerable questions; refused: unanswerable ones; * rag.score_gate\n")
    _show_table(_answer_rows(report))
    click.echo("\nanswered: answerable questions that kb stands by an answer to, and right: those of them whose answer")
    click.echo("shows the place named; in vain: unanswerable questions that it answers; * rag.answer_precision")


def _show_table(rows: list[list[str]]) -> None:
    for line in aligned(rows):
        click.echo(f"  {line}".rstrip())


def _gate_rows(report: CalibrationReport) -> list[list[str]]:
    rows = [["threshold", "kept", "refused", "balanced"]]
    for point in report.gate.table:
        mark = "*" if point.threshold == report.score_gate else " "
        shares = (point.kept, point.refused, point.balanced)
        rows.append([f"{point.threshold:.2f}{mark}", *(f"{share:.3f}" for share in shares)])
    return [*rows, ["AUROC", f"{report.gate.auroc:.3f}", "", ""]]


def _answer_rows(report: CalibrationReport) -> list[list[str]]:
    rows = [["precision", "limit", "answered", "right", "in vain"]]
    for point in report.answers:
        mark = "*" if point.precision == report.answer_precision else " "
        rows.append([f"{point.precision:.2f}{mark}", *_answer_cells(point)])
    return rows


def _answer_cells(point: AnswerPoint) -> tuple[str, str, str, str]:
    limit = "none" if point.limit is None else f"{point.limit:.2f}"
    right = "–" if point.right is None else f"{point.right:.3f}"
    return limit, f"{point.answered:.3f}", right, f"{point.unanswerable:.3f}"
