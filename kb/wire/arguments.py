"""Input types: a line of `kb search --bulk` and the arguments of agents' tools, as TypedDicts that pydantic checks.

All refuse unknown keys: a misspelled filter must not search everything. Filters are those of `kb.domain.filters`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, Required

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from kb.domain.filters import OPTIONS, Filter, named_filters
from kb.domain.kinds import KINDS
from kb.domain.results.fetched import FetchRequest, FetchTarget
from kb.domain.results.inspection import ListedKind
from kb.domain.search import MODES, SearchDefaults, SearchQuery
from kb.errors import UsageError

MOST_QUERY_CHARS = 20_000
DEFAULT_HITS = 8
DEFAULT_SEARCH_TOKENS = 4000
DEFAULT_FETCH_TOKENS = 8000
DEFAULT_LISTED = 50

_CLOSED = with_config(ConfigDict(extra="forbid"))
_Mode: Any = Literal[tuple(MODES)]
_Path = Annotated[str, MaxLen(4096)]


def _type(taken: Filter) -> Any:
    return Literal[taken.choices] if taken.choices else list[str] if taken.many else str


def _tool_filters() -> dict[str, Any]:
    """The filters as parameters of a tool, those of code last."""
    kinds = ", ".join(KINDS.families)
    return {
        each.tool_name or each.name: Annotated[_type(each), Field(description=each.tool_help.format(kinds=kinds))]
        for each in sorted(OPTIONS, key=lambda each: (each.of_code, bool(each.choices)))
    }


def _typed_dict(title: str, doc: str, fields: dict[str, Any], *, total: bool = True) -> Any:
    made: Any = TypedDict(title, fields, total=total)  # type: ignore[misc]  # fields known at run time alone
    made.__doc__ = doc
    return _CLOSED(made)


BulkSearchQueryV1 = _typed_dict(
    "BulkSearchQueryV1",
    "A question with its own mode, size and filters; only `query` is needed.",
    {
        "query": Annotated[str, MinLen(1)],
        "mode": NotRequired[_Mode],
        "k": NotRequired[Annotated[int, Ge(1), Le(1000)]],
        "sort": NotRequired[Literal["score", "date"]],
        **{each.name: NotRequired[_type(each)] for each in OPTIONS},
    },
)

SearchArgumentsV1 = _typed_dict(
    "SearchArgumentsV1",
    "The arguments of `search`; only `query` is needed.",
    {
        **_tool_filters(),
        "query": Required[
            Annotated[
                str,
                MinLen(1),
                MaxLen(MOST_QUERY_CHARS),
                Field(description="a question or keywords, Korean or English; one topic per query works best"),
            ]
        ],
        "also": Annotated[
            list[Annotated[str, MinLen(1), MaxLen(MOST_QUERY_CHARS)]],
            MaxLen(9),
            Field(description="up to 9 more queries (other words, other questions), searched at once, ranks fused"),
        ],
        "mode": Annotated[
            _Mode, Field(description="hybrid (default): words and meaning; lexical: exact words; vector: meaning")
        ],
        "sort": Annotated[Literal["score", "date"], Field(description="date: the newest of the matches first")],
        "limit": Annotated[int, Ge(1), Le(20), Field(description="how many passages (default 8)")],
        "cursor": Annotated[str, Field(description="next_cursor of the last search, with the same query and filters")],
        "max_tokens": Annotated[int, Ge(200), Le(50_000), Field(description="budget of the result (default 4000)")],
    },
    total=False,
)

AskArgumentsV1 = _typed_dict(
    "AskArgumentsV1",
    "The arguments of `ask`; only `question` is needed.",
    {
        **_tool_filters(),
        "question": Required[
            Annotated[str, MinLen(1), MaxLen(MOST_QUERY_CHARS), Field(description="one question, in Korean or English")]
        ],
        "depth": Annotated[
            int, Ge(1), Le(8), Field(description="searches it may take: above 1 for several questions in one")
        ],
        "session": Annotated[
            str,
            MinLen(1),
            MaxLen(200),
            Field(description="name of a conversation to go on with, for follow-up questions"),
        ],
    },
    total=False,
)


@_CLOSED
class FetchArgumentsV1(TypedDict, total=False):
    """The arguments of `fetch`: places, or one path with a part of it, or a cursor."""

    citations: Annotated[
        list[_Path], MinLen(1), MaxLen(50), Field(description="as search gives them, chunk ids, or paths")
    ]
    path: Annotated[_Path, Field(description="one document, instead of citations; with one of the next four")]
    lines: Annotated[str, Field(description='lines of path: "12-34"')]
    page: Annotated[int, Ge(1), Field(description="page of path, from 1")]
    time: Annotated[str, Field(description='seconds of the recording at path: "822-850"')]
    symbol: Annotated[str, Field(description="a definition in code, with or without path: Parser.parse")]
    context_lines: Annotated[int, Ge(0), Le(500), Field(description="lines added before and behind each (default 0)")]
    cursor: Annotated[str, Field(description="next_cursor of the last fetch, alone, to read on")]
    images: Annotated[bool, Field(description="pictures too: of images and of cited PDF pages")]
    max_tokens: Annotated[int, Ge(50), Le(100_000), Field(description="budget of the result (default 8000)")]


@_CLOSED
class ListArgumentsV1(TypedDict, total=False):
    """The arguments of `list`; only `what` is needed."""

    what: Required[Annotated[ListedKind, Field(description="what to list")]]
    glob: Annotated[str, MinLen(1), MaxLen(1000), Field(description="paths or symbols that match: projects/**, parse*")]
    limit: Annotated[int, Ge(1), Le(200), Field(description="how many (default 50)")]
    cursor: Annotated[str, Field(description="next_cursor of the last list")]


@_CLOSED
class StatusArgumentsV1(TypedDict):
    """No arguments."""


@_CLOSED
class AddNoteArgumentsV1(TypedDict, total=False):
    """The arguments of `add_note`."""

    title: Required[Annotated[str, MinLen(1), MaxLen(300), Field(description="what the note is called")]]
    text: Required[Annotated[str, MinLen(1), MaxLen(1_000_000), Field(description="the note, in Markdown")]]
    source_uri: Annotated[str, MaxLen(2000), Field(description="where it comes from")]


@_CLOSED
class IngestArgumentsV1(TypedDict, total=False):
    """The arguments of `ingest`."""

    path: Annotated[_Path, Field(description="a file or folder below the workspace; left out: everything is looked at")]


def search_query(line: dict[str, Any], defaults: SearchDefaults) -> SearchQuery:
    """The question of a validated `BulkSearchQueryV1`."""
    sort = line.get("sort", "score")
    return defaults.query(line["query"], line.get("mode"), line.get("k"), named_filters(line), sort)


def fetch_request(arguments: FetchArgumentsV1) -> FetchRequest:
    """The request of validated arguments. Raises: UsageError where they do not go together."""
    targets = [FetchTarget(place) for place in dict.fromkeys(arguments.get("citations", ()))]
    part = {name: arguments.get(name) for name in ("lines", "page", "time", "symbol")}
    if "path" in arguments or arguments.get("symbol") is not None:
        targets.append(FetchTarget(arguments.get("path", ""), **part))  # type: ignore[arg-type]  # validated
    elif any(value is not None for value in part.values()):
        raise UsageError("lines, page and time are of a path", 'for example {"path": "notes/a.md", "lines": "12-34"}')
    budget = arguments.get("max_tokens", DEFAULT_FETCH_TOKENS)
    return FetchRequest(tuple(targets), arguments.get("context_lines", 0), budget, arguments.get("cursor"))
