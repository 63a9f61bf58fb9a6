"""config_report.v1: the configuration in force and where each value came from; `kb config show|path --json`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from typing_extensions import TypedDict


class ConfigValueV1(TypedDict):
    """One value. `origin` is default, file, flag or the environment variable."""

    value: Any
    origin: str


class ConfigReportV1(TypedDict):
    """Every key, `section.key`, in order; `file` is null when there is none."""

    schema_version: Literal["config_report.v1"]
    file: str | None
    values: dict[str, ConfigValueV1]


def config_report_v1(file: Path | None, values: Iterable[tuple[str, object, str]]) -> ConfigReportV1:
    """The wire form of a configuration: its file, and each key with its value and origin."""
    return {
        "schema_version": "config_report.v1",
        "file": str(file) if file else None,
        "values": {
            key: {"value": list(value) if isinstance(value, tuple) else value, "origin": origin}
            for key, value, origin in values
        },
    }
