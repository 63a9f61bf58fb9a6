"""symbol_inspection.v1: the definitions of a name and the lines that use it; what `kb inspect symbol --json` prints."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from kb.domain.citations import CodeCitation
from kb.domain.results.symbols import SymbolInspection, SymbolUse
from kb.wire.citation import CitationV1, citation_v1
from kb.wire.inspect.symbol_summary import SymbolSummaryV1, symbol_summary_v1


class SymbolUseV1(TypedDict):
    """A line that calls or constructs the name; `from_symbol` is the definition around it."""

    citation: CitationV1
    from_symbol: str | None


class SymbolInspectionV1(TypedDict):
    """All that is known of a name in source code."""

    schema_version: Literal["symbol_inspection.v1"]
    name: str
    definitions: list[SymbolSummaryV1]
    uses: list[SymbolUseV1]


def symbol_inspection_v1(found: SymbolInspection) -> SymbolInspectionV1:
    """The wire form of an inspected name."""
    return {
        "schema_version": "symbol_inspection.v1",
        "name": found.name,
        "definitions": [symbol_summary_v1(each) for each in found.definitions],
        "uses": [_use(each) for each in found.uses],
    }


def _use(use: SymbolUse) -> SymbolUseV1:
    return {"citation": citation_v1(CodeCitation(use.path, use.line, use.line)), "from_symbol": use.from_symbol}
