"""Two other screens of `kb ui`: the documents by folder, and the checks of the doctor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.text import Text
from textual.app import ComposeResult
from textual.widgets import OptionList, Tree
from textual.widgets.option_list import Option
from textual.widgets.tree import TreeNode

from kb.domain.checks import Check, State
from kb.domain.results.inspection import FolderPage
from kb.operations.doctor.doctor import diagnose
from kb.operations.inspect.inspect import list_folder
from kb.tui.clean import clean_line
from kb.tui.rows import counted
from kb.tui.screens import AskingScreen

# So much of a folder is read at once.
_PAGE = 500

_MARKS: dict[State, tuple[str, str]] = {
    "ok": ("✓", "green"),
    "failed": ("✗", "bold red"),
    "absent": ("–", "dim"),
    "unchecked": ("–", "dim"),
}


class _Place(NamedTuple):
    """What a row of the tree stands for: a folder, a document, or the rest of a folder from `start` on."""

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
        """Reads the top."""
        self._read(self._tree.root, _Place(""))
        self._tree.focus()

    def on_tree_node_expanded(self, event: Tree.NodeExpanded[_Place]) -> None:
        """Reads a folder that is opened for the first time."""
        node = event.node
        if node.data is not None and not node.children and node is not self._tree.root:
            self._read(node, node.data)

    def on_tree_node_selected(self, event: Tree.NodeSelected[_Place]) -> None:
        """Shows the document beside the line one types in; reads on where a folder has more."""
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
                name = Text(f"{clean_line(each.name)}/ ").append(f"{each.documents:,}", "dim")
                node.add(name, _Place(f"{page.folder}/{each.name}" if page.folder else each.name))
            else:
                label = Text(clean_line(each.name))
                label.append(f"  {each.media_type} {each.lang} {counted(each.chunk_count or 0, 'passage')}", "dim")
                node.add_leaf(label, _Place(page.folder, each.workspace_path))
        if page.has_more:
            node.add_leaf(Text("… more", "dim"), _Place(page.folder, start=start + len(page.entries)))
        if node is self._tree.root and not start:
            top = sum(each.documents or 1 for each in page.entries)
            count = f"more than {top:,} documents" if page.has_more else counted(top, "document")
            self._said.update(f"{count} · Enter opens a folder or shows a document · Esc back")


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
            row = Text().append(f"{mark} ", style).append(f"{check.name:<20}", "bold").append(clean_line(check.detail))
            if check.hint:
                row.append(f"\n    {clean_line(check.hint)}", "dim")
            self._rows.add_option(Option(row))
        self._rows.focus()
