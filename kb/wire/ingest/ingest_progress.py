"""ingest_progress.v1: the lines `kb ingest --json` prints while it runs, told apart by `kind`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal, cast

from typing_extensions import TypedDict

from kb.domain.run_handle import RunEvent


class _Progress(TypedDict):
    schema_version: Literal["ingest_progress.v1"]
    ts: str


class ScanStartedV1(_Progress):
    """The walk begins."""

    kind: Literal["scan_started"]
    root: str


class ScanCompletedV1(_Progress):
    """The walk is over; `total` files are to be read."""

    kind: Literal["scan_completed"]
    total: int
    unchanged: int


class AssetStartedV1(_Progress):
    """File `idx` of `total` (from 1) is read."""

    kind: Literal["asset_started"]
    idx: int
    total: int
    path: str
    media: str


class AssetFinishedV1(_Progress):
    """File `idx` of `total` is done."""

    kind: Literal["asset_finished"]
    idx: int
    total: int
    path: str
    result: Literal["new", "updated", "moved", "unchanged", "removed", "error"]
    chunks: int


class ExtractProgressV1(_Progress):
    """An engine has read `done` of `total` (pages, or milliseconds of sound; 0 = not known yet) of a file."""

    kind: Literal["extract_progress"]
    path: str
    engine: str
    done: int
    total: int


class EmbedProgressV1(_Progress):
    """`done` of the `total` chunks that had no vector under `model` have one now; first with `done` 0."""

    kind: Literal["embed_progress"]
    model: str
    done: int
    total: int


class EmbedBatchStartedV1(_Progress):
    """`n_chunks` chunks are embedded with `model`."""

    kind: Literal["embed_batch_started"]
    n_chunks: int
    model: str


class EmbedBatchFinishedV1(_Progress):
    """`n_chunks` chunks have their vectors, after `ms` milliseconds."""

    kind: Literal["embed_batch_finished"]
    n_chunks: int
    model: str
    ms: int


class IngestCountsV1(TypedDict):
    """Totals up to this point."""

    scanned: int
    new: int
    updated: int
    moved: int
    unchanged: int
    removed: int
    skipped: int
    errors: int
    chunks_indexed: int
    embeddings_indexed: int


class FinishedV1(_Progress):
    """The last event of every run."""

    kind: Literal["completed", "aborted"]
    counts: IngestCountsV1


IngestProgressV1 = (
    ScanStartedV1
    | ScanCompletedV1
    | AssetStartedV1
    | AssetFinishedV1
    | ExtractProgressV1
    | EmbedProgressV1
    | EmbedBatchStartedV1
    | EmbedBatchFinishedV1
    | FinishedV1
)


def ingest_progress_v1(event: RunEvent, ts: str) -> IngestProgressV1:
    """The wire form of an event: its name and its fields; `ts` is RFC 3339 UTC."""
    head = {"schema_version": "ingest_progress.v1", "ts": ts, "kind": event.kind}
    return cast(IngestProgressV1, {**head, **asdict(cast(Any, event))})
