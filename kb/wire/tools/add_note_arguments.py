"""add_note_arguments.v1: what the tool `add_note` takes."""

from __future__ import annotations

from typing import Annotated, Required

from annotated_types import MaxLen, MinLen
from pydantic import Field
from typing_extensions import TypedDict


class AddNoteArgumentsV1(TypedDict, total=False):
    """The arguments of `add_note`."""

    __pydantic_config__ = {"extra": "forbid"}  # type: ignore[misc]  # noqa: RUF012 (pydantic reads it so)

    title: Required[Annotated[str, MinLen(1), MaxLen(300), Field(description="what the note is called")]]
    text: Required[Annotated[str, MinLen(1), MaxLen(1_000_000), Field(description="the note, in Markdown")]]
    source_uri: Annotated[str, MaxLen(2000), Field(description="where it comes from")]
