"""Running text in parts: paragraphs, items and rows of tables, numbered in the order they are read.

A row of a table is read with its header (`row_text`), so that it can be found and understood by itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from kb.domain.citations import part_name
from kb.extract.parts import Part, PartBlock, PartBlockKind

_BETWEEN = " · "
_HEADER_CHARS = 60


def row_text(header: Sequence[str] | None, cells: Sequence[str]) -> str:
    """A row on one line: `Item: Bolt · Price: 30`; without a header its cells alone. Empty cells are left out."""
    names = header if header is not None and sum(map(bool, cells)) > 1 else ()
    said = []
    for at, cell in enumerate(cells):
        name = names[at] if at < len(names) else ""
        if cell:
            said.append(f"{name}: {cell}" if name and name != cell else cell)
    return _BETWEEN.join(said)


def is_header(cells: Sequence[str]) -> bool:
    """Whether a first row names the columns: several short texts, no two alike, none of them a number."""
    named = [cell for cell in cells if cell]
    is_named = all(len(cell) <= _HEADER_CHARS and any(map(str.isalpha, cell)) for cell in named)
    return len(named) > 1 and is_named and len(set(named)) == len(named)


class Flow:
    """Collects the paragraphs of a document; footnotes and comments follow behind them."""

    def __init__(self) -> None:
        self.paragraphs: list[Part] = []
        self.notes: list[Part] = []

    def add(self, kind: PartBlockKind, text: str, level: int = 0) -> None:
        """Appends a paragraph, if it has text."""
        if text := text.strip():
            block = PartBlock(kind, text, min(level, 6))
            self.paragraphs.append(Part(part_name(para=len(self.paragraphs) + 1), (block,)))

    def add_table(self, rows: Sequence[Sequence[str]]) -> None:
        """Appends the rows of a table, each with its header if the first row is one."""
        header = rows[0] if len(rows) > 1 and is_header(rows[0]) else None
        for at, row in enumerate(rows):
            self.add("table", row_text(header if at else None, row))

    def add_note(self, key: str, text: str) -> None:
        """Appends a footnote (`note`) or a comment (`comment`), numbered by themselves."""
        if text := text.strip():
            number = 1 + sum(part.name.startswith(f"{key}=") for part in self.notes)
            self.notes.append(Part(part_name(**{key: number}), (PartBlock("paragraph", text),), ()))

    @property
    def parts(self) -> tuple[Part, ...]:
        """All of them, notes and comments last, each kind together."""
        return (*self.paragraphs, *sorted(self.notes, key=lambda part: part.name.partition("=")[0] != "note"))
