"""index_report.v1: what `kb index` made anew; printed with --json."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from kb.operations.index import RebuildReport


class IndexReportV1(TypedDict):
    """What was made anew: rows of the lexical index, vectors embedded, taken from the cache, or restored."""

    schema_version: Literal["index_report.v1"]
    fts_rows: int
    embedded: int
    from_cache: int
    mirror_rows: int
    lance_rows: int
    ann_vectors: int
    aborted: bool


def index_report_v1(report: RebuildReport) -> IndexReportV1:
    """The wire form of a rebuild."""
    return {
        "schema_version": "index_report.v1",
        "fts_rows": report.fts_rows,
        "embedded": report.embedded,
        "from_cache": report.from_cache,
        "mirror_rows": report.mirror_rows,
        "lance_rows": report.lance_rows,
        "ann_vectors": report.ann_vectors,
        "aborted": report.aborted,
    }
