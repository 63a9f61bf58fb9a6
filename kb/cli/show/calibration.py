"""A calibration as a person reads it: what the gate does now and refitted, a table for each search mode.

Of read passages, what a gate and what a precision do.
"""

from __future__ import annotations

import click

from kb.cli.output.terminal import plain_line
from kb.cli.show.eval import aligned
from kb.domain.results.calibration import GatePoint, ModeFit, Separation
from kb.domain.results.calibration_report import CalibrationReport
from kb.domain.results.reading_calibration import AnswerPoint, ReadingFit
from kb.eval.calibration import LEAST_QUESTIONS


def show_calibration(report: CalibrationReport) -> None:
    """Prints how well the questions are told apart, now and refitted."""
    click.echo(plain_line(report.fitted_on))
    for mode in report.modes:
        click.echo(f"\n{mode.mode} search: {mode.answerable} answerable, {mode.unanswerable} unanswerable questions")
        _show_table(_channel_rows(mode))
        click.echo()
        _show_table(_gate_rows((mode.current, mode.fitted), report.score_gate))
    if report.modes:
        click.echo("\nkept: answerable questions; refused: unanswerable ones; * rag.score_gate")
    if report.reading is not None:
        _show_reading(report.reading, report.score_gate)
    if report.is_fitted:
        click.echo("refitted is measured on questions the fit did not see (a fifth at a time)")


def _show_reading(fit: ReadingFit, score_gate: float) -> None:
    """Of read passages: the likelihoods, what each gate refuses, and what each precision answers."""
    places = f"{fit.placed} say where their answer stands"
    click.echo(f"\n{fit.answerable} answerable questions ({places}), {fit.unanswerable} unanswerable")
    _show_table(_likelihood_rows(fit))
    click.echo()
    _show_table(_gate_rows((fit.gate, fit.fitted_gate), score_gate))
    click.echo("\nkept: answerable questions; refused: unanswerable ones; * rag.score_gate\n")
    _show_table(_answer_rows(fit))
    click.echo("\nanswered: answerable questions that kb stands by an answer to, and right: those of them whose answer")
    click.echo("shows the place named; in vain: unanswerable questions that it answers; * rag.answer_precision")


def _show_table(rows: list[list[str]]) -> None:
    for line in aligned(rows):
        click.echo(f"  {line}".rstrip())


def _likelihood_rows(fit: ReadingFit) -> list[list[str]]:
    rows = [["likelihood", "answerable", "unanswerable", "now", "log-loss", "refitted", ""]]
    for each in fit.fits:
        outcome = f"too few to refit: it takes {LEAST_QUESTIONS} of each"
        if each.rescaling is not None:
            outcome = f"shift {each.rescaling.shift:+.2f}, stretch {each.rescaling.stretch:.2f}"
            outcome += "" if each.is_better else "; does worse"
        losses = [_number(each.loss), _number(each.held_out_loss)]
        rows.append([each.model, str(each.answerable), str(each.unanswerable), each.version, *losses, outcome])
    return rows


def _answer_rows(fit: ReadingFit) -> list[list[str]]:
    columns = ["limit", "answered", "right", "in vain"]
    sides = [fit.answers, *([fit.fitted_answers] if fit.fitted_answers else [])]
    rows = [["precision", *columns, *(["refitted: limit", *columns[1:]] if fit.fitted_answers else [])]]
    for points in zip(*sides, strict=True):
        mark = "*" if points[0].precision == fit.answer_precision else " "
        rows.append([f"{points[0].precision:.2f}{mark}", *(cell for point in points for cell in _answer_cells(point))])
    return rows


def _answer_cells(point: AnswerPoint) -> tuple[str, str, str, str]:
    limit = "none" if point.limit is None else f"{point.limit:.2f}"
    return limit, f"{point.answered:.3f}", _number(point.right), f"{point.unanswerable:.3f}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _channel_rows(mode: ModeFit) -> list[list[str]]:
    rows = [["channel", "answerable", "unanswerable", "now", ""]]
    for fit in mode.channels:
        outcome = "refitted" if fit.fitted else f"too few to refit: it takes {LEAST_QUESTIONS} of each"
        now = f"{fit.current.version} ({fit.current.origin})"
        rows.append([fit.channel, str(fit.answerable), str(fit.unanswerable), now, outcome])
    return rows


def _gate_rows(now_and_fitted: tuple[Separation, Separation | None], score_gate: float) -> list[list[str]]:
    columns = ["kept", "refused", "balanced"]
    sides = [side for side in now_and_fitted if side is not None]
    rows = [["threshold", *columns, *(f"refitted: {name}" for name in columns if len(sides) > 1)]]
    for points in zip(*(side.table for side in sides), strict=True):
        mark = "*" if points[0].threshold == score_gate else " "
        rows.append([f"{points[0].threshold:.2f}{mark}", *(cell for point in points for cell in _cells(point))])
    rows.append(["AUROC", *(cell for side in sides for cell in (f"{side.auroc:.3f}", "", ""))])
    return rows


def _cells(point: GatePoint) -> tuple[str, str, str]:
    return f"{point.kept:.3f}", f"{point.refused:.3f}", f"{point.balanced:.3f}"
