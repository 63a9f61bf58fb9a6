"""config_report.v1: the configuration in force and where each value came from; `kb config show|path --json`."""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import TypedDict

from kb.config import Config
from kb.config.showing import items


class ConfigValueV1(TypedDict):
    """One value. `origin` is default, file, flag or the environment variable."""

    value: Any
    origin: str


class ConfigReportV1(TypedDict):
    """Every key, `section.key`, in order; `file` is null when there is none."""

    schema_version: Literal["config_report.v1"]
    file: str | None
    values: dict[str, ConfigValueV1]


def config_report_v1(config: Config) -> ConfigReportV1:
    """The wire form of a configuration."""
    return {
        "schema_version": "config_report.v1",
        "file": str(config.file) if config.file else None,
        "values": {
            key: {"value": list(value) if isinstance(value, tuple) else value, "origin": origin}
            for key, value, origin in items(config)
        },
    }
