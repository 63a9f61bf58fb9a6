"""What `kb list symbols` and `kb inspect symbol` give back."""

from __future__ import annotations

from kb.records import NamedTuple


class SymbolDetail(NamedTuple):
    """A definition in source code; lines as in `symbols`."""

    path: str
    name: str
    qualified_name: str
    kind: str
    language: str
    parent: str | None
    signature: str
    doc: str | None
    line_start: int
    defined_at: int
    line_end: int
    visibility: str


class SymbolUse(NamedTuple):
    """A line that uses a name."""

    path: str
    line: int
    from_symbol: str | None


class SymbolInspection(NamedTuple):
    """The definitions that a name names, and the lines that use names spelled so."""

    name: str
    definitions: tuple[SymbolDetail, ...]
    uses: tuple[SymbolUse, ...]
