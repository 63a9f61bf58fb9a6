"""The events of a running ingest; each surface shows them in its own way (frozen design §2.4a).

The `kind` of an event is its name on the wire, and its fields are what the wire says of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

from kb.domain.on_wire import on_wire

Result = Literal["new", "updated", "moved", "unchanged", "removed", "error"]


@dataclass(frozen=True, slots=True)
class ScanStarted:
    """The walk begins."""

    kind: ClassVar = "scan_started"

    root: str


@dataclass(frozen=True, slots=True)
class ScanCompleted:
    """The walk is over; `total` files will be read."""

    kind: ClassVar = "scan_completed"

    total: int
    unchanged: int


@dataclass(frozen=True, slots=True)
class AssetStarted:
    """File `idx` of `total` (from 1) is read."""

    kind: ClassVar = "asset_started"

    idx: int
    total: int
    path: str
    media: str


@dataclass(frozen=True, slots=True)
class AssetFinished:
    """File `idx` of `total` is done."""

    kind: ClassVar = "asset_finished"

    idx: int
    total: int
    path: str
    result: Result
    chunks: int


@dataclass(frozen=True, slots=True)
class ExtractProgress:
    """An engine has read `done` of `total` (pages, or milliseconds of sound; 0 = not known yet) of a file."""

    kind: ClassVar = "extract_progress"

    path: str
    engine: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class EmbedProgress:
    """`done` of the `total` chunks that had no vector under `model` have one now; first with `done` 0."""

    kind: ClassVar = "embed_progress"

    model: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class EmbedAgain:
    """`passages` that have a vector are to get one of another kind, in some `seconds` by the rate of a few of them.

    `by_old`: searches use the vectors that are there until then; else they are by words. Not on the wire.
    """

    kind: ClassVar = "embed_again"

    model: str
    passages: int
    seconds: float
    by_old: bool


@dataclass(frozen=True, slots=True)
class EmbedBatchStarted:
    """`n_chunks` chunks are embedded with `model`."""

    kind: ClassVar = "embed_batch_started"

    n_chunks: int
    model: str


@dataclass(frozen=True, slots=True)
class EmbedBatchFinished:
    """`n_chunks` chunks have their vectors, after `ms` milliseconds."""

    kind: ClassVar = "embed_batch_finished"

    n_chunks: int
    model: str
    ms: int


@dataclass(frozen=True, slots=True)
class ClusterJoined:
    """The workers of a Dask scheduler were checked; `refused` names those that get no work, and why."""

    kind: ClassVar = "cluster_joined"

    scheduler: str
    dashboard: str
    workers: int
    threads: int
    refused: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClusterProgress:
    """The tasks and bytes of a cluster so far; `rate`: passages or files that come back a second."""

    kind: ClassVar = "cluster_progress"

    workers: int
    threads: int
    tasks_done: int
    tasks_under_way: int
    sent_bytes: int
    received_bytes: int
    rate: float
    seconds_left: float | None


@dataclass(frozen=True, slots=True)
class Finished:
    """The last event of every run."""

    kind: Literal["completed", "aborted"]
    counts: IngestCounts


@dataclass(slots=True)
class IngestCounts:
    """Totals up to this point."""

    scanned: int = 0
    new: int = 0
    updated: int = 0
    moved: int = 0
    unchanged: int = 0
    removed: int = 0
    skipped: int = 0
    errors: int = 0
    chunks_indexed: int = 0
    embeddings_indexed: int = 0
    still_unread: int = 0

    def add(self, result: Result) -> None:
        """Count one file's outcome."""
        name = "errors" if result == "error" else result
        setattr(self, name, getattr(self, name) + 1)


IngestEvent = (
    ScanStarted
    | ScanCompleted
    | AssetStarted
    | AssetFinished
    | ExtractProgress
    | EmbedProgress
    | EmbedBatchStarted
    | EmbedBatchFinished
    | ClusterJoined
    | ClusterProgress
    | Finished
)


@on_wire("ingest_progress.v1", fields="ts *event")
class ToldEvent(NamedTuple):
    """An event with its time: RFC 3339 UTC."""

    ts: str
    event: IngestEvent
