"""Marks → units: runs of lines that together hold every non-blank line of a file exactly once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kb.domain.symbols import OBJECT_KINDS, Symbol
from kb.extract.code.syntax import Mark

# A line that only closes what was opened before it belongs to what it closes.
_CLOSES = re.compile(r"[\s)}\];,]*(?:end|#endif.*|#else.*)?[\s;]*\Z")
_IMPORTS = re.compile(r"\s*(?:import|from|use|using|#\s*include|package|require|extern crate|pub use|mod)\b")
_NAMED = 3


class FileUnit(NamedTuple):
    """Lines `start`..`end` of a file, from 1; `symbol` is the definition they are (part) of.

    `names` say what stands in lines that are no definition of their own: its small definitions, else `imports` or
    `statements`.
    """

    start: int
    end: int
    symbol: Symbol | None
    names: tuple[str, ...] = ()

    @property
    def path(self) -> tuple[str, ...]:
        """Where the unit stands, outermost first."""
        if self.symbol is None:
            return self.names_shown
        whole = self.symbol.qualified
        return (*([whole] if self.symbol.kind in OBJECT_KINDS else whole.split(".")), *self.names_shown)

    @property
    def names_shown(self) -> tuple[str, ...]:
        """The first of its names and how many more there are, as one; empty without any."""
        more = f" and {len(self.names) - _NAMED} more" if len(self.names) > _NAMED else ""
        return (", ".join(self.names[:_NAMED]) + more,) if self.names else ()


def units_of(lines: Sequence[str], marks: Sequence[Mark], symbols: Sequence[Symbol]) -> list[FileUnit]:
    """The units of a file whose text has these lines."""
    runs = list(_joined(_runs(lines, marks)))
    return [FileUnit(start, end, mark.symbol, _names(lines, start, end, mark, symbols)) for start, end, mark in runs]


def _runs(lines: Sequence[str], marks: Sequence[Mark]) -> Iterator[tuple[int, int, Mark]]:
    """Runs of lines with the mark they follow, blank lines at their edges left out."""
    latest: dict[int, Mark] = {}
    for mark in (Mark(1, None), *marks):
        known = latest.get(mark.line)
        # Where several begin at one line, the outermost definition has it; a definition counts before none.
        if known is None or known.symbol is None or (mark.symbol is not None and known.symbol.line_end < mark.line):
            latest[mark.line] = mark
    order = sorted(latest)
    for at, line in enumerate(order):
        end = order[at + 1] - 1 if at + 1 < len(order) else len(lines)
        start, end = _without_blanks(lines, line, min(end, len(lines)))
        if start <= end:
            yield start, end, latest[line]


def _joined(runs: Iterator[tuple[int, int, Mark]]) -> Iterator[tuple[int, int, Mark]]:
    """Runs of one owner that meet, as one; a bare container with its first member."""
    held: tuple[int, int, Mark] | None = None
    for start, end, mark in runs:
        if held is None:
            held = (start, end, mark)
        elif held[2].is_bare and end >= start and held[1] - held[0] < 2 and mark.symbol is not None:
            held = (held[0], end, mark)
        elif held[2].symbol is mark.symbol:
            held = (held[0], end, held[2])
        else:
            yield held
            held = (start, end, mark)
    if held is not None:
        yield held


def _without_blanks(lines: Sequence[str], start: int, end: int) -> tuple[int, int]:
    while start <= end and not lines[start - 1].strip():
        start += 1
    while end >= start and not lines[end - 1].strip():
        end -= 1
    return start, end


def absorb_closers(lines: Sequence[str], units: Sequence[FileUnit]) -> list[FileUnit]:
    """The units, those that only close brackets joined to the one before them."""
    kept: list[FileUnit] = []
    for unit in units:
        closes = all(_CLOSES.match(line) for line in lines[unit.start - 1 : unit.end])
        if kept and closes:
            kept[-1] = kept[-1]._replace(end=unit.end)
        else:
            kept.append(unit)
    return kept


def _names(lines: Sequence[str], start: int, end: int, mark: Mark, symbols: Sequence[Symbol]) -> tuple[str, ...]:
    """What lines that begin no definition of their own are called."""
    own = mark.symbol
    if own is not None and own.line_start <= end and start <= own.defined_at <= end:
        return ()
    names = tuple(dict.fromkeys(each.name for each in symbols if start <= each.defined_at <= end))
    if names or own is not None:
        return names
    texts = [line for line in lines[start - 1 : end] if line.strip()]
    return ("imports",) if any(map(_IMPORTS.match, texts)) else ("statements",)
