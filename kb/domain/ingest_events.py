"""The events of a running ingest; each surface shows them in its own way.

The `kind` of an event is its name in JSON, and its fields are the fields there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, NamedTuple

from kb.domain.on_wire import on_wire

Result = Literal["new", "updated", "moved", "unchanged", "removed", "error"]


@dataclass(frozen=True, slots=True)
class ScanStarted:
    """The run begins to list the files below `root`."""

    kind: ClassVar = "scan_started"
    root: str


@dataclass(frozen=True, slots=True)
class ScanCompleted:
    """All files are listed; `total` of them will be read, `kinds` counts these by kind."""

    kind: ClassVar = "scan_completed"
    total: int
    unchanged: int
    kinds: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AssetStarted:
    """The run begins to read file `idx` of `total` (from 1)."""

    kind: ClassVar = "asset_started"
    idx: int
    total: int
    path: str
    media: str


@dataclass(frozen=True, slots=True)
class AssetFinished:
    """File `idx` of `total` (from 1) is done."""

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
    """Of `total` chunks that had no vector under `model`, `done` have one now. The first event has `done` 0."""

    kind: ClassVar = "embed_progress"
    model: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class EmbedAgain:
    """`passages` passages have a vector of an older kind and will be embedded again, in about `seconds` seconds.

    `seconds` follows from the speed of the first few. `by_old`: searches use the old vectors until then; otherwise they
    search by words. This event is not sent to other programs.
    """

    kind: ClassVar = "embed_again"
    model: str
    passages: int
    seconds: float
    by_old: bool


@dataclass(frozen=True, slots=True)
class EmbedBatchStarted:
    """The run begins to embed a batch of `n_chunks` chunks with `model`."""

    kind: ClassVar = "embed_batch_started"
    n_chunks: int
    model: str


@dataclass(frozen=True, slots=True)
class EmbedBatchFinished:
    """A batch of `n_chunks` chunks was embedded in `ms` milliseconds."""

    kind: ClassVar = "embed_batch_finished"
    n_chunks: int
    model: str
    ms: int


@dataclass(frozen=True, slots=True)
class ClusterJoined:
    """The workers of a Dask scheduler were checked; `refused` says which workers get no work, and why."""

    kind: ClassVar = "cluster_joined"
    scheduler: str
    dashboard: str
    workers: int
    threads: int
    refused: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClusterProgress:
    """The tasks and bytes of a cluster so far; `rate` is the number of passages or files that come back per second."""

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
    """Counts of files, passages and vectors of a run so far."""

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
        """Counts the outcome of one file."""
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
    """An event and the time at which it was sent, RFC 3339 UTC."""

    ts: str
    event: IngestEvent
