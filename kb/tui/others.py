"""Two other screens of `kb ui`: the documents by folder, and the checks of the doctor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from rich.text import Text
from textual.app import ComposeResult
from textual.widgets import OptionList, Tree
from textual.widgets.option_list import Option
from textual.widgets.tree import TreeNode

from kb.domain.checks import Check, State
from kb.domain.results.inspection import DocumentRow
from kb.domain.search import SearchFilters
from kb.operations.doctor.doctor import diagnose
from kb.operations.inspect.inspect import list_documents
from kb.tui.clean import clean_line
from kb.tui.rows import counted
from kb.tui.screens import AskingScreen

_MARKS: dict[State, tuple[str, str]] = {
    "ok": ("✓", "green"),
    "failed": ("✗", "bold red"),
    "absent": ("–", "dim"),
    "unchecked": ("–", "dim"),
}
_TOLERANCE = 0.01  # as that of kb eval compare
_MOVED_SHOWN = 50

Asked = TypeVar("Asked")


class DocumentsScreen(AskingScreen):
    """The documents as a tree of folders with counts; Enter looks for what is in one."""

    def parts(self) -> ComposeResult:
        """The tree."""
        self._tree: Tree[str] = Tree("documents")
        self._tree.show_root = False
        yield self._tree

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


class DoctorScreen(AskingScreen):
    """The checks of the doctor, each with what mends it."""

    def parts(self) -> ComposeResult:
        """The list."""
        self._rows = OptionList(markup=False)
        yield self._rows

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


def _folders(path: str) -> list[str]:
    """`a/b/c.md` → `a`, `a/b`."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]
