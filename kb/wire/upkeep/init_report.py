"""init_report.v1: what `kb init` made; printed with --json."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from kb.domain.results.upkeep import SetupReport


class InitReportV1(TypedDict):
    """The places, and which of them are new."""

    schema_version: Literal["init_report.v1"]
    config: str
    data_dir: str
    sqlite: str
    root: str
    created: dict[str, bool]
    database_schema: int


def init_report_v1(report: SetupReport) -> InitReportV1:
    """The wire form of a set-up."""
    return {
        "schema_version": "init_report.v1",
        "config": str(report.config),
        "data_dir": str(report.data_dir),
        "sqlite": str(report.sqlite),
        "root": str(report.root),
        "created": dict(report.created),
        "database_schema": report.schema_version,
    }
