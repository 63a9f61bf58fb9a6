"""Evaluation runs on a screen of `kb ui`: what each measured, and what changed from one to another."""

from __future__ import annotations

import json
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from kb.domain.results.comparison import Comparison, MovedQuestion
from kb.domain.results.measured import RunRow
from kb.eval.report_html import verdict_reason
from kb.operations.evaluate.compare import compare_runs
from kb.operations.evaluate.runs import list_runs
from kb.operations.session.session import Session
from kb.tui.clean import clean_line
from kb.tui.rows import counted
from kb.tui.screens import AskingScreen

_TOLERANCE = 0.01  # as that of kb eval compare
_MOVED_SHOWN = 50
_VERDICTS = {
    "better": "better",
    "worse": "worse",
    "undecided": "no difference beyond the noise",
    "not_comparable": "not comparable",
}
_HITS_SHOWN = 3


class RunsScreen(AskingScreen):
    """The runs; Enter compares one with the run that was marked, else with that of its golden set before it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "mark", "Compare with this"),
        Binding("pagedown", "scroll(1)", "Scroll", show=False, priority=True),
        Binding("pageup", "scroll(-1)", show=False, priority=True),
    ]

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._runs: list[RunRow] = []
        self._marked: str | None = None
        self._rows = OptionList(markup=False)
        self._changed = Static("", markup=False)
        self._below = VerticalScroll(self._changed, classes="changed")

    def parts(self) -> ComposeResult:
        """The list, and below it what changed."""
        yield self._rows
        yield self._below

    def on_mount(self) -> None:
        """Reads them."""
        self.ask(lambda: list_runs(self._session), self._show)

    def action_mark(self) -> None:
        """The run that others are compared with; once more takes it away."""
        at = self._rows.highlighted
        if at is None:
            return
        run_id = self._runs[at].run_id
        self._marked = None if self._marked == run_id else run_id
        for index, run in enumerate(self._runs):
            self._rows.replace_option_prompt_at_index(index, self._row(run))

    def action_scroll(self, pages: int) -> None:
        """Scrolls what changed."""
        self._below.scroll_relative(y=pages * max(self._below.size.height - 1, 1), animate=False)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Compares."""
        run = self._runs[event.option_index]
        older = next((each for each in self._runs if each.suite == run.suite and each.run_no < run.run_no), None)
        before = self._marked or (older.run_id if older else None)
        if before is None:
            self._changed.update("there is no earlier run of this golden set")
        elif before == run.run_id:
            self._changed.update("choose another run to compare with this one")
        else:
            after = run.run_id
            self.ask(lambda: compare_runs(self._session, before, after, tolerance=_TOLERANCE), self._compare)

    def _show(self, runs: list[RunRow]) -> None:
        self._runs = runs
        self._said.update(
            f"{counted(len(runs), 'evaluation run')} · Enter compares with the one before, or the one Space marked"
            if runs
            else "no evaluation runs · Esc back"
        )
        if not runs:
            self._changed.update("kb eval run makes one; Ctrl-G on a good hit begins a golden set")
        self._rows.add_options(Option(self._row(run)) for run in runs)
        self._rows.highlighted = 0 if runs else None
        self._rows.focus()

    def _row(self, run: RunRow) -> Text:
        mark = "● " if run.run_id == self._marked else "  "
        row = Text(mark).append(f"{run.created_at[:16].replace('T', ' ')}  ", "dim")
        row.append(clean_line(run.name or run.run_id[:8]), "bold")
        row.append(
            f"  {clean_line(run.suite)}, {run.mode}, {run.answered} of {counted(run.questions, 'question')}", "dim"
        )
        return row.append("\n    " + _aggregate(run))

    def _compare(self, comparison: Comparison) -> None:
        before, after = (each.run.name or each.run.run_id[:8] for each in (comparison.before, comparison.after))
        text = Text().append(f"{clean_line(before)} → {clean_line(after)}: {_VERDICTS[comparison.verdict]}\n", "bold")
        text.append(f"{clean_line(verdict_reason(comparison))}\n\n", "dim")
        for change in comparison.metrics:
            figures = f"{change.metric.label:<28} {change.before:.3f} → {change.after:.3f}  {change.difference:+.3f}\n"
            text.append(figures, "red" if change.regressed else "")
        better = [each for each in comparison.moved if each.change > 0]
        worse = [each for each in comparison.moved if each.change < 0]
        for title, moved in (("better", better), ("worse", worse)):
            text.append(f"\n{counted(len(moved), 'question')} {title}\n", "bold")
            for each in moved[:_MOVED_SHOWN]:
                text.append_text(_moved(each))
        self._changed.update(text)
        self._below.scroll_home(animate=False)


def _moved(moved: MovedQuestion) -> Text:
    """A question that is ranked otherwise, and the first hits that it has now; those that were expected are marked."""
    text = Text().append(f"{moved.change:+.3f}  ", "green" if moved.change > 0 else "red")
    text.append(f"{clean_line(moved.after.query)}\n")
    for hit in moved.after.hits[:_HITS_SHOWN]:
        text.append(f"        {hit.rank} {'✓' if hit.grade else ' '} {clean_line(hit.citation)}\n", "dim")
    return text


def _aggregate(run: RunRow) -> str:
    """The figures of a run that are numbers, as far as it has some."""
    figures = json.loads(run.aggregate_json or "{}")
    shown = [f"{name} {value:.3f}" for name, value in figures.items() if isinstance(value, float)]
    return ", ".join(shown[:6]) or "not finished"
