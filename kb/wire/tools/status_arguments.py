"""status_arguments.v1: what the tool `status` takes, which is nothing."""

from __future__ import annotations

from typing_extensions import TypedDict


class StatusArgumentsV1(TypedDict):
    """No arguments."""

    __pydantic_config__ = {"extra": "forbid"}  # type: ignore[misc]  # noqa: RUF012 (pydantic reads it so)
