"""list_arguments.v1: what the tool `list` takes."""

from __future__ import annotations

from typing import Annotated, Literal, Required

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import Field
from typing_extensions import TypedDict

Listed = Literal["documents", "sources", "tags", "properties", "symbols"]


class ListArgumentsV1(TypedDict, total=False):
    """The arguments of `list`; only `what` is needed."""

    __pydantic_config__ = {"extra": "forbid"}  # type: ignore[misc]  # noqa: RUF012 (pydantic reads it so)

    what: Required[Annotated[Listed, Field(description="what to list")]]
    glob: Annotated[str, MinLen(1), MaxLen(1000), Field(description="paths or symbols that match: projects/**, parse*")]
    limit: Annotated[int, Ge(1), Le(200), Field(description="how many (default 50)")]
    cursor: Annotated[str, Field(description="next_cursor of the last list")]
