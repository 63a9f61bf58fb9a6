"""forget_report.v1: what was forgotten, or would be; what `kb forget --json` prints."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from kb.domain.results.upkeep import ForgetReport
from kb.wire.upkeep.reset_report import RemovedPartV1, removed_parts


class ForgetReportV1(TypedDict):
    """`done` false: a dry run, nothing was forgotten. `stays`: files that are still there.

    The next ingest reads those again, unless `ignore_lines` stand in `ignore_file`; `ignored`: they were written there.
    """

    schema_version: Literal["forget_report.v1"]
    done: bool
    paths: list[str]
    parts: list[RemovedPartV1]
    stays: list[str]
    ignore_file: str
    ignore_lines: list[str]
    ignored: bool


def forget_report_v1(report: ForgetReport) -> ForgetReportV1:
    """The wire form of a report."""
    return {
        "schema_version": "forget_report.v1",
        "done": report.done,
        "paths": list(report.paths),
        "parts": removed_parts(report.parts),
        "stays": list(report.stays),
        "ignore_file": str(report.ignore_file),
        "ignore_lines": list(report.ignore_lines),
        "ignored": report.ignored,
    }
