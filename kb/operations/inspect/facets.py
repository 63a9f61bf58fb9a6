"""How many documents each value of a filter leaves, the other filters in force."""

from __future__ import annotations

from collections.abc import Callable

from kb.domain.results.viewing import FacetCount, FacetName
from kb.domain.search import SearchFilters
from kb.operations.session.session import Session
from kb.retrieve.filters import eligible_documents
from kb.store import queries
from kb.store.connection import Connection

# So many values of one facet are worth showing; a vault may have thousands of tags.
SHOWN = 60

# Each facet, and the filters without what narrows by it: its other values are counted as if it were not in force.
_WITHOUT: dict[FacetName, Callable[[SearchFilters], SearchFilters]] = {
    "media": lambda filters: filters._replace(media=None),
    "lang": lambda filters: filters._replace(lang=None),
    "tag": lambda filters: filters._replace(tags_any=()),
    "folder": lambda filters: filters._replace(path_globs=()),
    "trust": lambda filters: filters._replace(trust_min=None),
    "kind": lambda filters: filters._replace(symbol_kind=None),
    "code_lang": lambda filters: filters._replace(code_lang=None),
}


def count_facets(session: Session, filters: SearchFilters) -> list[FacetCount]:
    """The values of every facet with their documents, the commonest first.

    Raises: UsageError for a filter that cannot be.
    """
    with session.reading() as base, base.snapshot():
        # What narrows by one value of a facet hides its others; the rest is counted with all filters, at once.
        narrowed = {facet: wider for facet, without in _WITHOUT.items() if (wider := without(filters)) != filters}
        found = [count for count in _counted(base.db, None, filters) if count.facet not in narrowed]
        for facet, wider in narrowed.items():
            found += _counted(base.db, facet, wider)
        return found


def _counted(db: Connection, facet: FacetName | None, filters: SearchFilters) -> list[FacetCount]:
    passing = eligible_documents(db, filters)
    if passing is None:
        return queries.count_facets(db, facet=facet, per_facet=SHOWN)
    return queries.count_facets_among(db, facet=facet, doc_ids_json=passing, per_facet=SHOWN)
