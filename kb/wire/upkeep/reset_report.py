"""reset_report.v1: what a reset has removed, or would; what `kb reset --json` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from typing_extensions import TypedDict

from kb.domain.results.upkeep import RemovedPart, ResetPart, ResetReport


class RemovedPartV1(TypedDict):
    """One kind of things: how many, the bytes of their files where counted, and their path if it goes whole."""

    name: str
    entries: int
    byte_len: int | None
    path: str | None


class ResetReportV1(TypedDict):
    """`done` false: a dry run, nothing was removed."""

    schema_version: Literal["reset_report.v1"]
    part: ResetPart
    done: bool
    parts: list[RemovedPartV1]


def reset_report_v1(report: ResetReport) -> ResetReportV1:
    """The wire form of a report."""
    return {
        "schema_version": "reset_report.v1",
        "part": report.part,
        "done": report.done,
        "parts": removed_parts(report.parts),
    }


def removed_parts(parts: Sequence[RemovedPart]) -> list[RemovedPartV1]:
    """The wire form of what is removed."""
    return [
        {
            "name": each.name,
            "entries": each.entries,
            "byte_len": each.byte_len,
            "path": None if each.path is None else str(each.path),
        }
        for each in parts
    ]
