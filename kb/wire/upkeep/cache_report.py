"""cache_report.v1: what the caches hold; what `kb cache stats|prune --json` prints."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from kb.domain.results.upkeep import CacheReport


class CachePartV1(TypedDict):
    """One cache file: `vectors` by text and model, or what engines `derived` by content and engine."""

    name: str
    path: str
    entries: int
    byte_len: int


class CacheReportV1(TypedDict):
    """All caches, and what a prune gave back."""

    schema_version: Literal["cache_report.v1"]
    byte_len: int
    freed_bytes: int
    parts: list[CachePartV1]


def cache_report_v1(report: CacheReport) -> CacheReportV1:
    """The wire form of a report."""
    return {
        "schema_version": "cache_report.v1",
        "byte_len": report.byte_len,
        "freed_bytes": report.freed_bytes,
        "parts": [
            {"name": part.name, "path": str(part.path), "entries": part.entries, "byte_len": part.byte_len}
            for part in report.parts
        ],
    }
