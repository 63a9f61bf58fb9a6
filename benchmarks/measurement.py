"""What a benchmark hands back, and its two forms: a table for people, one JSON line for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

Cell = str | int | float


@dataclass(frozen=True, slots=True)
class Target:
    """A figure and what it must keep to."""

    label: str
    value: float
    bound: Literal["≤", "≥"]
    limit: float

    @property
    def met(self) -> bool:
        """Whether the figure keeps to its limit."""
        return self.value <= self.limit if self.bound == "≤" else self.value >= self.limit


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of figures under a title; floats are shown as they are rounded by the benchmark."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def to_markdown(self) -> str:
        """The table as GitHub Markdown, figures aligned to the right."""
        texts = [[_shown(cell) for cell in row] for row in self.rows]
        numeric = [all(not isinstance(row[at], str) for row in self.rows) for at in range(len(self.columns))]
        widths = [max(3, len(name), *(len(row[at]) for row in texts)) for at, name in enumerate(self.columns)]

        def line(cells: Sequence[str]) -> str:
            padded = (
                cell.rjust(width) if right else cell.ljust(width)
                for cell, width, right in zip(cells, widths, numeric, strict=True)
            )
            return "| " + " | ".join(padded) + " |"

        rule = ["-" * (width - 1) + (":" if right else "-") for width, right in zip(widths, numeric, strict=True)]
        return "\n".join([line(self.columns), line(rule), *map(line, texts)])


@dataclass(frozen=True, slots=True)
class Measurement:
    """One benchmark's outcome. `figures` is what the JSON line holds beside the targets."""

    name: str
    tables: tuple[Table, ...]
    targets: tuple[Target, ...] = ()
    figures: dict[str, object] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def met(self) -> bool:
        """Whether every target is met."""
        return all(target.met for target in self.targets)

    def to_json(self) -> str:
        """One line."""
        targets = [
            {"label": each.label, "value": each.value, "bound": each.bound, "limit": each.limit, "met": each.met}
            for each in self.targets
        ]
        value = {"benchmark": self.name, "met": self.met, "targets": targets, **self.figures}
        return json.dumps(value, ensure_ascii=False)

    def to_markdown(self) -> str:
        """The tables, the targets among them, and the notes."""
        tables = list(self.tables)
        if self.targets:
            rows = tuple(
                (each.label, each.value, f"{each.bound} {_shown(each.limit)}", "yes" if each.met else "NO")
                for each in self.targets
            )
            tables.append(Table("Targets", ("figure", "measured", "target", "met"), rows))
        parts = [part for table in tables for part in (f"**{table.title}**", table.to_markdown())]
        return "\n\n".join([*parts, *self.notes])


def _shown(cell: Cell) -> str:
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int) or (cell == int(cell) and abs(cell) >= 1000):
        return f"{int(cell):,}"
    return f"{cell:g}"
