"""Counts documents by the values of their facets, among all documents or those that hold words of a question."""

from __future__ import annotations

import json
from contextlib import nullcontext

from kb.domain.filters import FILTERS, SearchFilters, with_values
from kb.domain.results.viewing import FacetCount, Facets, FoundCounts
from kb.domain.search import SearchQuery
from kb.operations.opening.base import Base, ConnectedBase
from kb.operations.search.search import read_question, resolved
from kb.retrieve.filters import eligible_documents, passing
from kb.store import queries
from kb.store.connection import Connection, expression_errors

# The most values of a facet to show; a vault may have thousands of tags.
SHOWN = 60


def count_facets(session: Base, filters: SearchFilters) -> list[FacetCount]:
    """The values of every facet by the number of their documents, most first. Raises: UsageError for a filter."""
    with session.reading() as base, base.snapshot():
        # A filter on a facet would hide its other values; the other facets are counted at once with all filters.
        narrowed = {
            each.facet: with_values(filters, each, ())
            for each in FILTERS
            if each.facet and getattr(filters, each.field)
        }
        found = [count for count in _counted(base.db, None, filters) if count.facet not in narrowed]
        for facet, wider in narrowed.items():
            found += _counted(base.db, facet, wider)
        return found


# Passages that are counted for a question; a person reads no more of them.
_MOST_COUNTED = 10_000


def count_found(session: Base, query: SearchQuery) -> FoundCounts:
    """How many documents and passages contain a word of the question, and the facets of these documents.

    For a question by meaning alone nothing is counted. Raises: UsageError, QuerySyntaxError.
    """
    with session.reading() as base, base.snapshot():
        asked = resolved(base, query)
        holding = _holding(base, asked, asked.filters)
        passages = sum(holding.values())
        facets = [
            count
            for facet in Facets._fields
            for wider in [_without_facet(asked.filters, facet)]
            for documents in [holding if wider == asked.filters else _holding(base, asked, wider)]
            for count in queries.count_facets(
                base.db, facet=facet, doc_ids_json=json.dumps(list(documents)), per_facet=SHOWN
            )
        ]
        return FoundCounts(len(holding), passages, passages < _MOST_COUNTED, Facets.of(facets))


def _without_facet(filters: SearchFilters, facet: str) -> SearchFilters:
    """The filters without the one on a facet, which would hide the facet's other values."""
    chosen = [each for each in FILTERS if each.facet == facet and getattr(filters, each.field)]
    return with_values(filters, chosen[0], ())._replace(passing=None) if chosen else filters


def _holding(base: ConnectedBase, query: SearchQuery, filters: SearchFilters) -> dict[str, int]:
    """The documents that pass, with the number of their passages that contain a word of the question, by id."""
    read = read_question(base, query)
    if query.mode == "vector" or not read.match_expr:
        return {}
    among = passing(base.db, filters)
    with expression_errors() if read.raw else nullcontext():
        rows = queries.count_matching(
            base.db,
            match_expr=read.match_expr,
            in_code=not read.raw,
            doc_ids_json=among.doc_ids_json,
            passages_json=among.passages_json,
            row_limit=_MOST_COUNTED,
        )
    return {row.doc_id: row.passages for row in rows}


def _counted(db: Connection, facet: str | None, filters: SearchFilters) -> list[FacetCount]:
    return queries.count_facets(db, facet=facet, doc_ids_json=eligible_documents(db, filters), per_facet=SHOWN)
