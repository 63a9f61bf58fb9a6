"""ask_arguments.v1: what the tool `ask` takes."""

from __future__ import annotations

from typing import Annotated, Required

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import Field

from kb.wire.tools.search_arguments import MOST_QUERY_CHARS, DocumentFiltersV1

MOST_STEPS = 8


class AskArgumentsV1(DocumentFiltersV1, total=False):
    """The arguments of `ask`; only `question` is needed."""

    __pydantic_config__ = {"extra": "forbid"}  # type: ignore[misc]  # noqa: RUF012 (pydantic reads it so)

    question: Required[
        Annotated[str, MinLen(1), MaxLen(MOST_QUERY_CHARS), Field(description="one question, in Korean or English")]
    ]
    depth: Annotated[
        int, Ge(1), Le(MOST_STEPS), Field(description="searches it may take: above 1 for several questions in one")
    ]
    session: Annotated[
        str, MinLen(1), MaxLen(200), Field(description="name of a conversation to go on with, for follow-up questions")
    ]
