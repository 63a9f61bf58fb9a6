"""taken_in.v1: what a writing tool has done."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from kb.domain.ingest.ingest_events import IngestCounts


class TakenInV1(TypedDict):
    """How many documents are new, changed and so on, of those an agent sees. `path` is the note's, where one was added.

    `was_there`: the same text had been added before. `failed` counts files that could not be read, which are not named.
    """

    schema_version: Literal["taken_in.v1"]
    path: str | None
    was_there: bool
    new: int
    updated: int
    moved: int
    removed: int
    unchanged: int
    failed: int


def taken_in_v1(counts: IngestCounts, path: str | None = None, *, was_there: bool = False) -> TakenInV1:
    """The wire form of what was taken in."""
    return {
        "schema_version": "taken_in.v1",
        "path": path,
        "was_there": was_there,
        "new": counts.new,
        "updated": counts.updated,
        "moved": counts.moved,
        "removed": counts.removed,
        "unchanged": counts.unchanged,
        "failed": counts.errors,
    }
