"""A request's words as what is asked: checked by the same classes as the lines of `kb search --bulk`."""

from __future__ import annotations

from starlette.requests import Request

from kb.domain.search import FILTER_NAMES, MANY_VALUED, SearchDefaults, SearchFilters, SearchQuery
from kb.errors import UsageError
from kb.wire.bulk_search_query import search_query
from kb.wire.schemas import read_bulk_query

_MANY = tuple(FILTER_NAMES[field][0] for field in MANY_VALUED)
_ONE = ("mode", *(names[0] for field, names in FILTER_NAMES.items() if field not in MANY_VALUED))


def asked(request: Request, defaults: SearchDefaults) -> SearchQuery:
    """The question of a request: `q`, `mode`, `k` and the filters. Raises: UsageError."""
    text = request.query_params.get("q", "")
    if not text.strip():
        raise UsageError("no question", "q holds the words")
    return search_query(read_bulk_query({"query": text, **_words(request)}), defaults)


def filters_of(request: Request, defaults: SearchDefaults) -> SearchFilters:
    """The filters of a request. Raises: UsageError."""
    return search_query(read_bulk_query({"query": "*", **_words(request)}), defaults).filters


def path_of(request: Request, name: str = "path") -> str:
    """A parameter that must be there. Raises: UsageError."""
    value = request.query_params.get(name)
    if not value:
        raise UsageError(f"{name} is missing", "it holds a document's path as kb list docs shows it")
    return value


def _words(request: Request) -> dict[str, object]:
    words: dict[str, object] = {name: found for name in _MANY if (found := request.query_params.getlist(name))}
    words.update({name: one for name in _ONE if (one := request.query_params.get(name))})
    if (k := request.query_params.get("k")) is not None:
        if not k.isdecimal():
            raise UsageError(f"k: {k!r} is no number", "k counts hits")
        words["k"] = int(k)
    return words
