"""The other screens of `kb ui`: the documents by folder, the checks of the doctor, evaluation runs and what changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import ClassVar, TypeVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Footer, OptionList, Static, Tree
from textual.widgets.option_list import Option
from textual.widgets.tree import TreeNode

from kb.domain.checks import Check, State
from kb.domain.results.comparison import Comparison
from kb.domain.results.inspection import DocumentRow
from kb.domain.results.measured import RunRow
from kb.domain.search import SearchFilters
from kb.errors import KbError
from kb.operations.doctor.doctor import diagnose
from kb.operations.evaluate.compare import compare_runs
from kb.operations.evaluate.runs import list_runs
from kb.operations.inspect.inspect import list_documents
from kb.operations.session.session import Session
from kb.tui.clean import clean_line
from kb.tui.rows import counted

_MARKS: dict[State, tuple[str, str]] = {
    "ok": ("✓", "green"),
    "failed": ("✗", "bold red"),
    "absent": ("–", "dim"),
    "unchecked": ("–", "dim"),
}
_TOLERANCE = 0.01  # as that of kb eval compare
_MOVED_SHOWN = 50

Asked = TypeVar("Asked")


class _Asking(Screen[str | None]):
    """A screen that asks once, in a worker, and says what went wrong."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss", "Back")]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._said = Static("…", classes="title", markup=False)

    @work(thread=True, exclusive=True, exit_on_error=False)
    def ask(self, asked: Callable[[], Asked], shown: Callable[[Asked], None]) -> None:
        """Asks, and has it shown."""
        try:
            found = asked()
        except KbError as error:
            said = f"{clean_line(error.message)}\n{clean_line(error.hint or '')}"
            self.app.call_from_thread(self._said.update, said)
        else:
            self.app.call_from_thread(shown, found)


class DocumentsScreen(_Asking):
    """The documents as a tree of folders with counts; Enter looks for what is in one."""

    def compose(self) -> ComposeResult:
        """The tree."""
        self._tree: Tree[str] = Tree("documents")
        self._tree.show_root = False
        yield self._said
        yield self._tree
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        """Reads them."""
        self.ask(lambda: list_documents(self._session, SearchFilters(), None), self._show)

    def on_tree_node_selected(self, event: Tree.NodeSelected[str]) -> None:
        """Shows the document beside the line one types in."""
        if event.node.data is not None:
            self.dismiss(event.node.data)

    def _show(self, rows: Sequence[DocumentRow]) -> None:
        self._said.update(f"{counted(len(rows), 'document')} · Enter opens a folder or shows a document · Esc back")
        counts: dict[str, int] = {}
        for row in rows:
            for folder in _folders(row.workspace_path):
                counts[folder] = counts.get(folder, 0) + 1
        nodes: dict[str, TreeNode[str]] = {"": self._tree.root}
        for row in rows:
            parent = ""
            for folder in _folders(row.workspace_path):
                if folder not in nodes:
                    name = Text(clean_line(folder.rpartition("/")[2]) + "/ ").append(f"{counts[folder]:,}", "dim")
                    nodes[folder] = nodes[parent].add(name)
                parent = folder
            label = Text(clean_line(row.workspace_path.rpartition("/")[2]))
            label.append(f"  {row.media_type} {row.lang} {counted(row.chunk_count, 'passage')}", "dim")
            nodes[parent].add_leaf(label, row.workspace_path)
        self._tree.focus()


class DoctorScreen(_Asking):
    """The checks of the doctor, each with what mends it."""

    def compose(self) -> ComposeResult:
        """The list."""
        self._rows = OptionList(markup=False)
        yield self._said
        yield self._rows
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        """Checks what needs no reading of the whole database."""
        self._said.update("checking …")
        self.ask(lambda: diagnose(self._session.config, quick=True), self._show)

    def _show(self, checks: Sequence[Check]) -> None:
        failed = sum(check.state == "failed" for check in checks)
        self._said.update(f"{counted(failed, 'fault')} · kb doctor reads the whole database too · Esc back")
        for check in checks:
            mark, style = _MARKS[check.state]
            row = Text(f"{mark} ", style).append(f"{check.name:<20}", "bold").append(clean_line(check.detail), "none")
            if check.hint:
                row.append(f"\n    {clean_line(check.hint)}", "dim")
            self._rows.add_option(Option(row))
        self._rows.focus()


class RunsScreen(_Asking):
    """Evaluation runs; Enter compares one with the run of its golden set before it."""

    def compose(self) -> ComposeResult:
        """The list, and below it what changed."""
        self._rows = OptionList(markup=False)
        self._changed = Static("", classes="changed", markup=False)
        yield self._said
        yield self._rows
        yield self._changed
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        """Reads them."""
        self._runs: list[RunRow] = []
        self.ask(lambda: list_runs(self._session), self._show)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Compares."""
        run = self._runs[event.option_index]
        older = next((each for each in self._runs if each.suite == run.suite and each.run_no < run.run_no), None)
        if older is None:
            self._changed.update("there is no earlier run of this golden set")
            return
        ids = (older.run_id, run.run_id)
        self.ask(lambda: compare_runs(self._session, *ids, tolerance=_TOLERANCE), self._compare)

    def _show(self, runs: list[RunRow]) -> None:
        self._runs = runs
        self._said.update(f"{counted(len(runs), 'evaluation run')} · Enter compares with the one before · Esc back")
        if not runs:
            self._changed.update("kb eval run makes one; Ctrl-G on a good hit begins a golden set")
        for run in runs:
            row = Text(f"{run.created_at[:16].replace('T', ' ')}  ", "dim").append(
                clean_line(run.name or run.run_id[:8])
            )
            row.append(
                f"  {clean_line(run.suite)}, {run.mode}, {run.answered} of {counted(run.questions, 'question')}", "dim"
            )
            row.append("\n    " + _aggregate(run))
            self._rows.add_option(Option(row))
        self._rows.highlighted = 0 if runs else None
        self._rows.focus()

    def _compare(self, comparison: Comparison) -> None:
        text = Text(f"{comparison.verdict.replace('_', ' ')}\n", "bold")
        for obstacle in comparison.obstacles:
            text.append(f"{clean_line(obstacle)}\n", "yellow")
        for change in comparison.metrics:
            text.append(
                f"{change.metric.name:<18} {change.before:.4f} → {change.after:.4f}\n",
                "red" if change.regressed else "",
            )
        for moved in comparison.moved[:_MOVED_SHOWN]:
            text.append(f"{moved.change:+.3f}  {clean_line(moved.after.query)}\n", "dim")
        self._changed.update(text)


def _folders(path: str) -> list[str]:
    """`a/b/c.md` → `a`, `a/b`."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]


def _aggregate(run: RunRow) -> str:
    """The figures of a run that are numbers, as far as it has some."""
    figures = json.loads(run.aggregate_json or "{}")
    shown = [f"{name} {value:.3f}" for name, value in figures.items() if isinstance(value, float)]
    return ", ".join(shown[:6]) or "not finished"
