"""Counts documents by the values of their facets, among all documents or those that hold words of a question."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
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
        among = {facet: eligible_documents(base.db, wider) for facet, wider in _narrowed(filters).items()}
        return _counted(base.db, eligible_documents(base.db, filters), among)


# Passages that are counted for a question; a person reads no more of them.
_MOST_COUNTED = 10_000


def count_found(session: Base, query: SearchQuery, *, with_facets: bool) -> FoundCounts:
    """How many documents and passages contain a word of the question; `with_facets` the facets of these documents too,
    which take most of the time.

    For a question by meaning alone nothing is counted. Raises: UsageError, QuerySyntaxError.
    """
    with session.reading() as base, base.snapshot():
        asked = resolved(base, query)
        holding = _holding(base, asked, asked.filters)
        facets: list[FacetCount] = []
        if with_facets:
            among = {facet: _ids(_holding(base, asked, wider)) for facet, wider in _narrowed(asked.filters).items()}
            facets = _counted(base.db, _ids(holding), among)
        passages = sum(holding.values())
        return FoundCounts(len(holding), passages, passages < _MOST_COUNTED, Facets.of(facets))


def _narrowed(filters: SearchFilters) -> dict[str, SearchFilters]:
    """Each facet that has a filter, with the filters without it, which would hide the facet's other values."""
    return {
        each.facet: with_values(filters, each, ())._replace(passing=None)
        for each in FILTERS
        if each.facet and getattr(filters, each.field)
    }


def _ids(documents: Iterable[str]) -> str:
    return json.dumps(list(documents))


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


def _counted(db: Connection, doc_ids_json: str | None, among: Mapping[str, str | None]) -> list[FacetCount]:
    """The facets of documents; of a facet in `among`, those of the documents there."""
    every = queries.count_facets(db, facet=None, doc_ids_json=doc_ids_json, per_facet=SHOWN)
    found = [count for count in every if count.facet not in among]
    for facet, ids_json in among.items():
        found += queries.count_facets(db, facet=facet, doc_ids_json=ids_json, per_facet=SHOWN)
    return found
