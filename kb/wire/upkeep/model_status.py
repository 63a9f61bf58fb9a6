"""model_status.v1: one model; one line of `kb models list|install|verify --json`."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from kb.domain.results.upkeep import ModelStatus, Purpose


class ModelStatusV1(TypedDict):
    """One model. `used_as` says which slot the configuration has for it; `problem` what verifying found.

    `purpose` is null for a model kb cannot assemble itself; `dimensions` is 0 for one that makes no vectors.
    """

    schema_version: Literal["model_status.v1"]
    name: str
    purpose: Purpose | None
    version: str
    dimensions: int
    licence: str
    size_bytes: int
    installed: bool
    used_as: Literal["primary", "secondary", "speech"] | None
    problem: str | None


def model_status_v1(status: ModelStatus) -> ModelStatusV1:
    """The wire form of a model's status."""
    return {
        "schema_version": "model_status.v1",
        "name": status.name,
        "purpose": status.purpose,
        "version": status.version,
        "dimensions": status.dimensions,
        "licence": status.licence,
        "size_bytes": status.size_bytes,
        "installed": status.installed,
        "used_as": status.used_as,  # type: ignore[typeddict-item]
        "problem": status.problem,
    }
