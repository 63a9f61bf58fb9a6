"""How many documents each value of a filter leaves, the other filters in force."""

from __future__ import annotations

from kb.domain.filters import FILTERS, SearchFilters, with_values
from kb.domain.results.viewing import FacetCount
from kb.operations.session.session import Session
from kb.retrieve.filters import eligible_documents, stored_values
from kb.store import queries
from kb.store.connection import Connection

# So many values of one facet are worth showing; a vault may have thousands of tags.
SHOWN = 60


def count_facets(session: Session, filters: SearchFilters) -> list[FacetCount]:
    """The values of every facet with their documents, the commonest first.

    Raises: UsageError for a filter that cannot be.
    """
    with session.reading() as base, base.snapshot():
        # What narrows by one value of a facet hides its others; the rest is counted with all filters, at once.
        narrowed = {
            each.facet: with_values(filters, each, ())
            for each in FILTERS
            if each.facet and getattr(filters, each.field)
        }
        found = [count for count in _counted(base.db, None, filters) if count.facet not in narrowed]
        for facet, wider in narrowed.items():
            found += _counted(base.db, facet, wider)
        return found


def _counted(db: Connection, facet: str | None, filters: SearchFilters) -> list[FacetCount]:
    passing = eligible_documents(db, filters)
    if passing is None:
        return queries.count_facets(db, facet=facet, per_facet=SHOWN)
    return queries.count_facets_among(db, facet=facet, doc_ids_json=passing, per_facet=SHOWN)


def filter_values(session: Session, name: str) -> list[str]:
    """The values that documents have for the filter of that name, the commonest first."""
    with session.reading() as base:
        return stored_values(base.db, name)
