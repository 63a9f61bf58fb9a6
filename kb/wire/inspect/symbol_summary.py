"""symbol_summary.v1: one definition in source code; a line of `kb list symbols --json`."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from kb.domain.citations import CodeCitation
from kb.domain.results.symbols import SymbolDetail
from kb.wire.citation import CitationV1, citation_v1


class SymbolSummaryV1(TypedDict):
    """One definition; `defined_at` is the line where it begins behind its comment, decorators and attributes."""

    schema_version: Literal["symbol_summary.v1"]
    name: str
    qualified_name: str
    kind: str
    code_lang: str
    parent: str | None
    signature: str
    doc: str | None
    defined_at: int
    visibility: str
    citation: CitationV1


def symbol_summary_v1(symbol: SymbolDetail) -> SymbolSummaryV1:
    """The wire form of a definition."""
    return {
        "schema_version": "symbol_summary.v1",
        "name": symbol.name,
        "qualified_name": symbol.qualified_name,
        "kind": symbol.kind,
        "code_lang": symbol.language,
        "parent": symbol.parent,
        "signature": symbol.signature,
        "doc": symbol.doc,
        "defined_at": symbol.defined_at,
        "visibility": symbol.visibility,
        "citation": citation_v1(
            CodeCitation(
                symbol.path,
                symbol.line_start,
                symbol.line_end,
                symbol.qualified_name,
                symbol.kind,
                symbol.language,
            )
        ),
    }
