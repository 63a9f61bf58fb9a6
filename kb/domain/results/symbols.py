"""Results of `kb list symbols` and `kb inspect symbol`."""

from __future__ import annotations

from kb.domain.citations import Citation, CodeCitation
from kb.domain.on_wire import on_wire
from kb.records import NamedTuple


@on_wire(
    "symbol_summary.v1",
    title="SymbolSummaryV1",
    fields="name qualified_name kind code_lang=language parent signature doc defined_at visibility citation",
)
class SymbolDetail(NamedTuple):
    """One definition; `defined_at` is the line where it begins behind its comment, decorators and attributes."""

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

    def citation(self) -> Citation:
        """Where it is, its comment included."""
        return CodeCitation(self.path, self.line_start, self.line_end, self.qualified_name, self.kind, self.language)


@on_wire(fields="citation from_symbol")
class SymbolUse(NamedTuple):
    """A line that calls or constructs the name; `from_symbol` is the definition around it."""

    path: str
    line: int
    from_symbol: str | None

    def citation(self) -> Citation:
        """The line."""
        return CodeCitation(self.path, self.line, self.line)


@on_wire("symbol_inspection.v1")
class SymbolInspection(NamedTuple):
    """All that is known of a name in source code."""

    name: str
    definitions: tuple[SymbolDetail, ...]
    uses: tuple[SymbolUse, ...]
