"""ask_arguments.v1: what the tool `ask` takes."""

from __future__ import annotations

from typing import Annotated, Required

from annotated_types import MaxLen, MinLen
from pydantic import Field

from kb.wire.tools.search_arguments import MOST_QUERY_CHARS, DocumentFiltersV1


class AskArgumentsV1(DocumentFiltersV1, total=False):
    """The arguments of `ask`; only `question` is needed."""

    __pydantic_config__ = {"extra": "forbid"}  # type: ignore[misc]  # noqa: RUF012 (pydantic reads it so)

    question: Required[
        Annotated[str, MinLen(1), MaxLen(MOST_QUERY_CHARS), Field(description="one question, in Korean or English")]
    ]
    session: Annotated[
        str, MinLen(1), MaxLen(200), Field(description="name of a conversation to go on with, for follow-up questions")
    ]
