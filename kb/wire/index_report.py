"""index_report.v1: what `kb index` made anew; printed with --json."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from kb.operations.index import RebuildReport


class IndexReportV1(TypedDict):
    """Rows of the rebuilt lexical index."""

    schema_version: Literal["index_report.v1"]
    fts_rows: int


def index_report_v1(report: RebuildReport) -> IndexReportV1:
    """The wire form of a rebuild."""
    return {"schema_version": "index_report.v1", "fts_rows": report.fts_rows}
