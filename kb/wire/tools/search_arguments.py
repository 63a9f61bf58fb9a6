"""search_arguments.v1: what the tool `search` takes."""

from __future__ import annotations

from typing import Annotated, Literal, Required

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import Field
from typing_extensions import TypedDict

from kb.domain.kinds import KINDS

MOST_QUERY_CHARS = 20_000


class DocumentFiltersV1(TypedDict, total=False):
    """What a document must be to be searched."""

    tags: Annotated[list[str], Field(description="any of these tags")]
    lang: Annotated[str, Field(description="language of the documents: ko, en, …")]
    path: Annotated[list[str], Field(description="paths matching any of these globs: projects/**")]
    media: Annotated[str, Field(description=f"kind of file: {', '.join(KINDS.families)}")]
    dated: Annotated[str, Field(description="days: 2026-11-12, 2026-11, last week, A..B")]
    trust_min: Annotated[Literal["primary", "secondary", "generated"], Field(description="at least this trusted")]
    symbol: Annotated[str, Field(description="code defining a name that matches: parse*")]
    symbol_kind: Annotated[str, Field(description="code defining this: function, class, …")]
    code_lang: Annotated[str, Field(description="language of the code: python, …")]
    repo: Annotated[str, Field(description="git repository of the code")]


class SearchArgumentsV1(DocumentFiltersV1, total=False):
    """The arguments of `search`; only `query` is needed."""

    __pydantic_config__ = {"extra": "forbid"}  # type: ignore[misc]  # noqa: RUF012 (pydantic reads it so)

    query: Required[
        Annotated[
            str,
            MinLen(1),
            MaxLen(MOST_QUERY_CHARS),
            Field(description="a question or keywords, Korean or English; one topic per search works best"),
        ]
    ]
    mode: Annotated[
        Literal["hybrid", "lexical", "vector"],
        Field(description="hybrid (default): words and meaning; lexical: exact words; vector: meaning"),
    ]
    limit: Annotated[int, Ge(1), Le(20), Field(description="how many passages (default 8)")]
    cursor: Annotated[str, Field(description="next_cursor of the last search, with the same query and filters")]
    max_tokens: Annotated[int, Ge(200), Le(50_000), Field(description="budget of the result (default 4000)")]
