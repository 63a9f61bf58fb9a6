"""The other screens of `kb ui`: documents by folder, the checks of the doctor, evaluation runs.

Each asks in a worker and shows errors at its top.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple, TypeVar

from rich.console import Group
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import Screen
from textual.widgets import OptionList, Static, Tree
from textual.widgets.option_list import Option
from textual.widgets.tree import TreeNode
from textual.worker import Worker, WorkerState

from kb.domain.checks import Check, State
from kb.domain.results.evaluation import Comparison, EvalRun, MovedQuestion
from kb.domain.results.inspection import FolderPage
from kb.errors import KbError
from kb.eval.report import verdict_reason
from kb.operations.doctor.doctor import diagnose
from kb.operations.evaluate.runs import compare_runs, list_runs
from kb.operations.inspect.inspect import list_folder
from kb.operations.opening.base import Base
from kb.tui.asking import ask_in_thread
from kb.tui.dialogs import value_name
from kb.tui.rows import clean_line
from kb.tui.strings import words
from kb.tui.styled import Hung

Told = TypeVar("Told")


class AskingScreen(Screen[str | None]):
    """A screen that asks in a worker and shows errors in its title."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss")]

    def __init__(self, session: Base, *, may_write: bool) -> None:
        super().__init__()
        self._session = session
        self._may_write = may_write
        self._say = words(session.config)
        self._said = Static("…", classes="title", markup=False)

    def parts(self) -> ComposeResult:
        """The widgets below the title."""
        yield from ()

    def compose(self) -> ComposeResult:
        """The title and the parts."""
        yield self._said
        yield from self.parts()

    def ask(self, asked: Callable[[], Told], shown: Callable[[Told], None]) -> None:
        """Asks in a worker and shows the result."""
        ask_in_thread(self, asked, shown, self.fail)

    def fail(self, error: KbError) -> None:
        """Shows an error."""
        self._said.update(f"{clean_line(error.message)}\n{clean_line(error.hint or '')}")

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Shows an unexpected exception of a worker."""
        if event.state is WorkerState.ERROR:
            self._said.update(self._say("failed", clean_line(repr(event.worker.error))))


# So much of a folder is read at once.
_PAGE = 500

_MARKS: dict[State, tuple[str, str]] = {
    "ok": ("✓", "good"),
    "failed": ("✗", "bad"),
    "absent": ("–", "quiet"),
    "unchecked": ("–", "quiet"),
}


class _Place(NamedTuple):
    """A node of the tree: a folder, a document, or the rest of a folder from `start` on."""

    folder: str
    document: str | None = None
    start: int = 0


class DocumentsScreen(AskingScreen):
    """The documents as a tree of folders with counts; a folder is read when it is opened, a page at a time."""

    def parts(self) -> ComposeResult:
        """The tree."""
        self._tree: Tree[_Place] = Tree("documents", _Place(""))
        self._tree.show_root = False
        yield self._tree

    def on_mount(self) -> None:
        """Reads the top folder."""
        self._read(self._tree.root, _Place(""))
        self._tree.focus()

    def on_tree_node_expanded(self, event: Tree.NodeExpanded[_Place]) -> None:
        """Reads a folder that is opened for the first time."""
        node = event.node
        if node.data is not None and not node.children and node is not self._tree.root:
            self._read(node, node.data)

    def on_tree_node_selected(self, event: Tree.NodeSelected[_Place]) -> None:
        """Returns the document to show, or reads the next page of a folder."""
        place = event.node.data
        if place is None:
            return
        if place.document is not None:
            self.dismiss(place.document)
        elif place.start and event.node.parent is not None:
            parent = event.node.parent
            event.node.remove()
            self._read(parent, place)

    def _read(self, node: TreeNode[_Place], place: _Place) -> None:
        def shown(page: FolderPage) -> None:
            self._add(node, page, place.start)

        self.ask(lambda: list_folder(self._session, place.folder, limit=_PAGE, start=place.start), shown)

    def _add(self, node: TreeNode[_Place], page: FolderPage, start: int) -> None:
        for each in page.entries:
            if each.workspace_path is None:
                name = Text(f"{clean_line(each.name)}/ ").append(f"{each.documents:,}", "quiet")
                node.add(name, _Place(f"{page.folder}/{each.name}" if page.folder else each.name))
            else:
                label = Text(clean_line(each.name))
                named = (
                    value_name("media", (each.media_type or "").partition("/")[0], self._say),
                    value_name("lang", each.lang or "", self._say),
                )
                label.append(f"  {', '.join(named)}, {self._say('passages', each.chunk_count or 0)}", "quiet")
                node.add_leaf(label, _Place(page.folder, each.workspace_path))
        if page.has_more:
            node.add_leaf(
                Text().append(self._say("more"), "quiet"), _Place(page.folder, start=start + len(page.entries))
            )
        if node is self._tree.root and not start:
            top = sum(each.documents or 1 for each in page.entries)
            count = self._say("more documents" if page.has_more else "count documents", top)
            self._said.update(f"{count} · {self._say('documents keys')}")


class DoctorScreen(AskingScreen):
    """The checks of `kb doctor`, each with its hint."""

    def parts(self) -> ComposeResult:
        """The list."""
        self._rows = OptionList(markup=False)
        yield self._rows

    def on_mount(self) -> None:
        """Runs the quick checks."""
        self._said.update(self._say("checking"))
        self.ask(lambda: diagnose(self._session.config, quick=True), self._show)

    def _show(self, checks: Sequence[Check]) -> None:
        failed = sum(check.state == "failed" for check in checks)
        self._said.update(f"{self._say('faults', failed)} · {self._say('esc')}")
        for check in checks:
            mark, style = _MARKS[check.state]
            name = Text().append(f"{mark} ", style).append(f"{check.name:<20}", "bold")
            hint = [Hung(Text("    "), Text(clean_line(check.hint), "quiet"))] if check.hint else []
            self._rows.add_option(Option(Group(Hung(name, Text(clean_line(check.detail))), *hint)))
        self._rows.focus()


_MOVED_SHOWN = 50
_HITS_SHOWN = 3


class RunsScreen(AskingScreen):
    """Evaluation runs; Enter compares one with the marked run, else with the run before it of its golden set."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "mark"),
        Binding("pagedown", "scroll(1)", priority=True),
        Binding("pageup", "scroll(-1)", priority=True),
    ]

    def __init__(self, session: Base, *, may_write: bool) -> None:
        super().__init__(session, may_write=may_write)
        self._runs: list[EvalRun] = []
        self._marked: str | None = None
        self._rows = OptionList(markup=False)
        self._changed = Static("", markup=False)
        self._below = VerticalScroll(self._changed, classes="changed")

    def parts(self) -> ComposeResult:
        """The list, and below it the changes."""
        yield self._rows
        yield self._below

    def on_mount(self) -> None:
        """Reads the runs."""
        self.ask(lambda: list_runs(self._session), self._show)

    def action_mark(self) -> None:
        """Marks the run to compare with, or removes the mark."""
        at = self._rows.highlighted
        if at is None:
            return
        run_id = self._runs[at].run_id
        self._marked = None if self._marked == run_id else run_id
        for index, run in enumerate(self._runs):
            self._rows.replace_option_prompt_at_index(index, self._row(run))

    def action_scroll(self, pages: int) -> None:
        """Scrolls the changes."""
        self._below.scroll_relative(y=pages * max(self._below.size.height - 1, 1), animate=False)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Compares the chosen run."""
        run = self._runs[event.option_index]
        older = next((each for each in self._runs if each.suite == run.suite and each.run_no < run.run_no), None)
        before = self._marked or (older.run_id if older else None)
        if before is None:
            self._changed.update(self._say("no earlier run"))
        elif before == run.run_id:
            self._changed.update(self._say("same run"))
        else:
            after = run.run_id
            self.ask(lambda: compare_runs(self._session, before, after), self._compare)

    def _show(self, runs: list[EvalRun]) -> None:
        self._runs = runs
        if runs:
            self._said.update(f"{self._say('count runs', len(runs))} · {self._say('runs keys')}")
        else:
            self._said.update(f"{self._say('no runs')} · {self._say('esc')}")
            self._changed.update(self._say("begin runs"))
        self._rows.add_options(Option(self._row(run)) for run in runs)
        self._rows.highlighted = 0 if runs else None
        self._rows.focus()

    def _row(self, run: EvalRun) -> Text:
        mark = "● " if run.run_id == self._marked else "  "
        row = Text(mark).append(f"{run.created_at[:16].replace('T', ' ')}  ", "quiet")
        row.append(clean_line(run.label), "bold")
        row.append(
            f"  {self._say('run of', clean_line(run.suite), self._say(run.mode), run.answered, run.questions)}", "quiet"
        )
        return row.append("\n    " + (_aggregate(run) or self._say("unfinished")))

    def _compare(self, comparison: Comparison) -> None:
        before, after = (each.run.label for each in (comparison.before, comparison.after))
        text = Text().append(f"{clean_line(before)} → {clean_line(after)}: {self._say(comparison.verdict)}\n", "bold")
        text.append(f"{clean_line(verdict_reason(comparison))}\n\n", "quiet")
        for change in comparison.metrics:
            figures = f"{change.metric.label:<28} {change.before:.3f} → {change.after:.3f}  {change.difference:+.3f}\n"
            text.append(figures, "bad" if change.regressed else "")
        better = [each for each in comparison.moved if each.change > 0]
        worse = [each for each in comparison.moved if each.change < 0]
        parts = [("count better", "nDCG@10", better), ("count worse", "nDCG@10", worse)]
        parts += [("count worse", change.metric.label, moved) for change, moved in comparison.fallen]
        for title, metric, moved in (each for each in parts if each[2]):
            text.append(f"\n{self._say(title, len(moved), metric)}\n", "bold")
            for each in moved[:_MOVED_SHOWN]:
                text.append_text(_moved(each))
        self._changed.update(text)
        self._below.scroll_home(animate=False)


def _moved(moved: MovedQuestion) -> Text:
    """A question with its change of nDCG, if any, and its first hits now; expected ones are marked."""
    figure = f"{moved.change:+.3f}" if moved.change else " " * 6
    text = Text().append(f"{figure}  ", "good" if moved.change > 0 else "bad")
    text.append(f"{clean_line(moved.after.query)}\n")
    for hit in moved.after.hits[:_HITS_SHOWN]:
        text.append(f"        {hit.rank} {'✓' if hit.grade else ' '} {clean_line(hit.citation)}\n", "quiet")
    return text


def _aggregate(run: EvalRun) -> str:
    """The first figures of a run; empty for one that is not finished."""
    figures = json.loads(run.aggregate_json or "{}")
    shown = [f"{name} {value:.3f}" for name, value in figures.items() if isinstance(value, float)]
    return ", ".join(shown[:6])
