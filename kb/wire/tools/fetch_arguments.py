"""fetch_arguments.v1: what the tool `fetch` takes."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import Field
from typing_extensions import TypedDict

from kb.domain.results.fetched import FetchRequest, FetchTarget
from kb.errors import UsageError

Place = Annotated[str, MaxLen(4096)]


class FetchArgumentsV1(TypedDict, total=False):
    """The arguments of `fetch`: places, or one path with a part of it, or a cursor."""

    __pydantic_config__ = {"extra": "forbid"}  # type: ignore[misc]  # noqa: RUF012 (pydantic reads it so)

    citations: Annotated[
        list[Place],
        MinLen(1),
        MaxLen(50),
        Field(description="as search gives them, chunk ids, or paths"),
    ]
    path: Annotated[Place, Field(description="one document, instead of citations; with one of the next four")]
    lines: Annotated[str, Field(description='lines of path: "12-34"')]
    page: Annotated[int, Ge(1), Field(description="page of path, from 1")]
    time: Annotated[str, Field(description='seconds of the recording at path: "822-850"')]
    symbol: Annotated[str, Field(description="a definition in code, with or without path: Parser.parse")]
    context_lines: Annotated[int, Ge(0), Le(500), Field(description="lines added before and behind each (default 0)")]
    cursor: Annotated[str, Field(description="next_cursor of the last fetch, alone, to read on")]
    images: Annotated[bool, Field(description="pictures too: of images and of cited PDF pages")]
    max_tokens: Annotated[int, Ge(50), Le(100_000), Field(description="budget of the result (default 8000)")]


DEFAULT_TOKENS = 8000


def fetch_request(arguments: FetchArgumentsV1) -> FetchRequest:
    """The request that validated arguments make. Raises: UsageError where they do not go together."""
    targets = [FetchTarget(place) for place in arguments.get("citations", ())]
    part = {name: arguments.get(name) for name in ("lines", "page", "time", "symbol")}
    if "path" in arguments or arguments.get("symbol") is not None:
        targets.append(FetchTarget(arguments.get("path", ""), **part))  # type: ignore[arg-type]  # validated
    elif any(value is not None for value in part.values()):
        raise UsageError("lines, page and time are of a path", 'for example {"path": "notes/a.md", "lines": "12-34"}')
    budget = arguments.get("max_tokens", DEFAULT_TOKENS)
    return FetchRequest(tuple(targets), arguments.get("context_lines", 0), budget, arguments.get("cursor"))
