"""ingest_arguments.v1: what the tool `ingest` takes."""

from __future__ import annotations

from typing import Annotated

from annotated_types import MaxLen
from pydantic import Field
from typing_extensions import TypedDict


class IngestArgumentsV1(TypedDict, total=False):
    """The arguments of `ingest`."""

    __pydantic_config__ = {"extra": "forbid"}  # type: ignore[misc]  # noqa: RUF012 (pydantic reads it so)

    path: Annotated[
        str, MaxLen(4096), Field(description="a file or folder below the workspace; left out: everything is looked at")
    ]
