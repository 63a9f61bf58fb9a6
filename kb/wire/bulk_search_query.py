"""bulk_search_query.v1: one line of `kb search --bulk` on stdin."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from annotated_types import Ge, Le, MinLen
from typing_extensions import TypedDict

from kb.domain.search import SearchDefaults, SearchQuery, named_filters


class BulkSearchQueryV1(TypedDict):
    """A question with its own mode, size and filters; only `query` is needed."""

    # A misspelled filter must not search everything.
    __pydantic_config__ = {"extra": "forbid"}  # type: ignore[misc]  # noqa: RUF012 (pydantic reads it so)

    query: Annotated[str, MinLen(1)]
    mode: NotRequired[Literal["hybrid", "lexical", "vector"]]
    k: NotRequired[Annotated[int, Ge(1), Le(1000)]]
    tag: NotRequired[list[str]]
    lang: NotRequired[str]
    path_glob: NotRequired[list[str]]
    trust_min: NotRequired[Literal["primary", "secondary", "generated"]]
    media: NotRequired[str]
    dated: NotRequired[str]
    symbol: NotRequired[str]
    kind: NotRequired[str]
    code_lang: NotRequired[str]
    repo: NotRequired[str]


def search_query(line: BulkSearchQueryV1, defaults: SearchDefaults) -> SearchQuery:
    """The question that a validated line asks."""
    return defaults.query(line["query"], line.get("mode"), line.get("k"), named_filters(line))
