"""A comparison as a person reads it in a terminal: verdict, metrics, and the questions that moved most."""

from __future__ import annotations

from itertools import zip_longest

import click

from kb.cli.output.printing import BAD, GOOD, Style, styled
from kb.cli.output.terminal import plain_line, width_cells
from kb.cli.show.eval import aligned
from kb.domain.results.comparison import Answered, Comparison, Hit, MeasuredRun, MovedQuestion
from kb.eval.report_html import verdict_reason
from kb.eval.significance import p_text

_VERDICTS = {"better": "better", "worse": "WORSE", "undecided": "undecided", "not_comparable": "NOT COMPARABLE"}
_STYLES: dict[str, Style] = {"better": GOOD, "worse": BAD, "undecided": GOOD, "not_comparable": BAD}
_HITS = 5
_COLUMN_CELLS = 46


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
    for line in aligned(rows):
        click.echo(line)
    for each in comparison.moved[:moved]:
        _show_moved(each, comparison)
    click.echo()
    verdict = _VERDICTS[comparison.verdict]
    shown = styled(verdict, _STYLES[comparison.verdict])
    click.echo(f"{shown}: {plain_line(verdict_reason(comparison))}")


def _show_moved(moved: MovedQuestion, comparison: Comparison) -> None:
    click.echo(f"\n{moved.change:+.3f}  {plain_line(moved.query_id)}  {plain_line(moved.after.query)}")
    left, right = _lines(moved.before), _lines(moved.after)
    heads = (_name(comparison.before), _name(comparison.after))
    for one, other in [heads, *zip_longest(left, right, fillvalue="")]:
        cut = _cut(one)
        click.echo(f"  {cut}{' ' * (_COLUMN_CELLS - width_cells(cut))}  {_cut(other)}".rstrip())


def _lines(answered: Answered) -> list[str]:
    first = next((hit for hit in answered.hits if hit.grade), None)
    shown = list(answered.hits[:_HITS])
    if first is not None and first not in shown:
        shown.append(first)
    return [_line(hit) for hit in shown]


def _line(hit: Hit) -> str:
    return f"{hit.rank:>3} {'✓' if hit.grade else ' '} {plain_line(hit.citation)}"


def _cut(text: str) -> str:
    """At most a column's width; the end of a citation tells more than its beginning."""
    if width_cells(text) <= _COLUMN_CELLS:
        return text
    head, tail = text[:6], text[6:]
    while width_cells(head) + 1 + width_cells(tail) > _COLUMN_CELLS:
        tail = tail[1:]
    return f"{head}…{tail}"


def _name(measured: MeasuredRun) -> str:
    return plain_line(measured.run.name or measured.run.run_id[:8])
