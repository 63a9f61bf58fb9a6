"""What is shown above the search: the keys, and the filters with how many documents each leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from kb.domain.results.viewing import FacetCount
from kb.domain.search import SearchFilters
from kb.tui.clean import clean_line
from kb.tui.line import Line

KEYS = (
    ("type", "hits come as you type"),
    (
        "?question",
        "asks: the answer with its places (Enter; so does Ctrl-J, or Ctrl-Enter where the terminal sends it)",
    ),
    ("??question Ctrl-S", "asks in steps: each part of the question by itself"),
    ("↓ ↑ Ctrl-N Ctrl-P", "next, previous"),
    ("Enter", "opens the place in your editor or viewer"),
    ("Ctrl-Y", "copies the citation"),
    ("Ctrl-O", "copies its text"),
    ("Tab", "by words and meaning, by words, by meaning"),
    ("Ctrl-F", "filters, with how many documents each leaves"),
    ("Ctrl-G Ctrl-B", "a good hit, a bad one: a question with a good one is kept for kb eval run"),
    ("Ctrl-R", "earlier answers"),
    ("Ctrl-T", "whether the quotations of the answer still stand in their files"),
    ("PgUp PgDn", "scroll the document"),
    ("F1, or ? and Enter", "these keys"),
    ("F2 F3 F4", "documents by folder, the doctor's checks, evaluation runs and what changed"),
    ("F5", "reads new and changed files; what was not read, and why"),
    ("F6", "conversations: go on with one, or name a new one; a ?question is then a part of it"),
    ("Esc", "back: from the answer to the hits, from a question to an empty line"),
    ("Ctrl-C", "ends"),
)

# Each facet as people call it, and the filter that a value of it sets.
_FACETS = {
    "media": "Kind of file",
    "folder": "Folder",
    "tag": "Tag",
    "lang": "Language",
    "trust": "At least this trusted",
    "code_lang": "Language of code",
    "kind": "Definitions",
}


class KeysDialog(ModalScreen[None]):
    """All keys."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,question_mark,f1,enter,q", "dismiss", "Back")]

    def compose(self) -> ComposeResult:
        """The list."""
        text = Text()
        for key, what in KEYS:
            text.append(f"{key:<26}", "bold")
            text.append(f"{what}\n")
        with Vertical(classes="dialog"):
            yield Static(text, markup=False)


class FiltersDialog(ModalScreen[SearchFilters | None]):
    """Values to choose from; gives the filters back, or None where nothing is to change."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Back"),
        Binding("ctrl+x", "clear", "No filters", priority=True),
        Binding("down", "to_list", show=False),
    ]

    def __init__(self, filters: SearchFilters, counts: Sequence[FacetCount]) -> None:
        super().__init__()
        self._filters = filters
        self._counts = counts
        self._shown: list[FacetCount | None] = []

    def compose(self) -> ComposeResult:
        """A line to narrow the list, or to write days and names in, and the values."""
        with Vertical(classes="dialog"):
            yield Line(placeholder="narrow this list; or dated:2026-11, symbol:parse*", id="narrow")
            yield OptionList(id="values", markup=False)
            yield Static("Enter sets or takes away · Ctrl-X takes all away · Esc back", classes="hint", markup=False)

    def on_mount(self) -> None:
        """Shows all values."""
        self._fill("")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Shows the values with these letters."""
        self._fill(event.value.strip().lower())

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Days, a name, or the first value of the narrowed list."""
        name, colon, value = event.value.strip().partition(":")
        if colon and name in ("dated", "symbol"):
            change: dict[str, Any] = {name: value.strip() or None}
            self.dismiss(self._filters._replace(**change))
            return
        first = next((count for count in self._shown if count is not None), None)
        if first is not None:
            self.dismiss(toggled(self._filters, first.facet, first.value))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Sets a value, or takes it away."""
        count = self._shown[event.option_index]
        if count is not None:
            self.dismiss(toggled(self._filters, count.facet, count.value))

    def action_clear(self) -> None:
        """Takes all filters away."""
        self.dismiss(SearchFilters())

    def action_to_list(self) -> None:
        """From the line into the list."""
        self.query_one("#values").focus()

    def _fill(self, letters: str) -> None:
        values = self.query_one("#values", OptionList)
        values.clear_options()
        self._shown = []
        for facet, title in _FACETS.items():
            of_facet = [count for count in self._counts if count.facet == facet and letters in count.value.lower()]
            if not of_facet:
                continue
            values.add_option(Option(Text(title, style="dim"), disabled=True))
            self._shown.append(None)
            for count in of_facet:
                row = Text("● " if is_set(self._filters, facet, count.value) else "  ")
                row.append(clean_line(count.value))
                row.append(f"  {count.documents:,}", "dim")
                values.add_option(Option(row))
                self._shown.append(count)


def is_set(filters: SearchFilters, facet: str, value: str) -> bool:
    """Whether that value of a facet is in force."""
    held = {
        "media": filters.media,
        "lang": filters.lang,
        "trust": filters.trust_min,
        "code_lang": filters.code_lang,
        "kind": filters.symbol_kind,
    }
    if facet == "tag":
        return value in filters.tags_any
    if facet == "folder":
        return f"{value}/**" in filters.path_globs
    return held[facet] == value


def toggled(filters: SearchFilters, facet: str, value: str) -> SearchFilters:
    """The filters with that value set, or taken away where it was."""
    if facet == "tag":
        return filters._replace(tags_any=_toggled(filters.tags_any, value))
    if facet == "folder":
        return filters._replace(path_globs=_toggled(filters.path_globs, f"{value}/**"))
    field = {"trust": "trust_min", "kind": "symbol_kind"}.get(facet, facet)
    change: dict[str, Any] = {field: None if is_set(filters, facet, value) else value}
    return filters._replace(**change)


def _toggled(values: tuple[str, ...], value: str) -> tuple[str, ...]:
    return tuple(each for each in values if each != value) if value in values else (*values, value)


def in_force(filters: SearchFilters) -> list[str]:
    """The filters in force, as they are shown."""
    held = (
        *(f"#{tag}" for tag in filters.tags_any),
        *(f"in {glob.removesuffix('/**')}" for glob in filters.path_globs),
        filters.lang,
        filters.media,
        filters.trust_min and f"trust {filters.trust_min}",
        filters.dated and f"of {filters.dated}",
        filters.code_lang,
        filters.symbol_kind,
        filters.symbol and f"name {filters.symbol}",
    )
    return [clean_line(each) for each in held if each]
