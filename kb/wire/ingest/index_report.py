"""index_report.v1: what `kb index` rebuilt; printed with --json."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from kb.domain.results.upkeep import RebuildReport, VectorTable


class VectorTableV1(TypedDict):
    """One vector table. `used_as` is primary or secondary, `configured` until a run has come to it, null = unused."""

    lance_table: str
    model: str | None
    dimensions: int | None
    vectors: int
    size_bytes: int
    used_as: Literal["primary", "secondary", "configured"] | None


class IndexReportV1(TypedDict):
    """What was rebuilt: rows of the lexical index, vectors embedded, taken from the cache, or restored; what there is.

    `tables` are the vector tables afterwards, where vectors were asked for or nothing was; `dropped` those removed.
    """

    schema_version: Literal["index_report.v1"]
    fts_rows: int
    embedded: int
    from_cache: int
    mirror_rows: int
    lance_rows: int
    ann_vectors: int
    aborted: bool
    tables: list[VectorTableV1]
    dropped: list[VectorTableV1]


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
        "tables": [_table(table) for table in report.tables],
        "dropped": [_table(table) for table in report.dropped],
    }


def _table(table: VectorTable) -> VectorTableV1:
    return table._asdict()  # type: ignore[return-value]  # the same names and types
