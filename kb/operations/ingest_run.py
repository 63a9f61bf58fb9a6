"""What an ingest was asked to do, and what it has seen so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from kb.domain.chunks import ChunkPolicy
from kb.domain.media import MediaType
from kb.domain.paths import to_posix
from kb.operations.embedding_plan import EmbeddingPlan
from kb.operations.events import IngestEvent
from kb.operations.prepare import AssetPolicy, pipeline_version
from kb.operations.report import IngestReport
from kb.store.connection import Connection


@dataclass(frozen=True, slots=True)
class IngestRequest:
    """What to ingest and how; `scope` narrows it to one file or folder below `root`."""

    sqlite: Path
    root: Path
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    policy: ChunkPolicy
    assets: AssetPolicy
    max_file_bytes: int
    embedding: EmbeddingPlan | None = None
    scope: str = ""
    dry_run: bool = False
    allow_empty: bool = False


@dataclass(slots=True)
class IngestRun:
    """One run under way: the request, the connection, and what has been seen."""

    request: IngestRequest
    db: Connection
    report: IngestReport
    on_event: Callable[[IngestEvent], None]
    is_canceled: Callable[[], bool]
    versions: dict[MediaType, str] = field(default_factory=dict)
    vanished: dict[str, tuple[int, int, str, str]] = field(default_factory=dict)  # known files the walk has not met
    unknown_below: list[str] = field(default_factory=list)  # paths that could not be read: keep what is stored
    finished: int = 0

    def version_for(self, media_type: MediaType) -> str:
        """The pipeline version for one media type, worked out once."""
        if media_type not in self.versions:
            self.versions[media_type] = pipeline_version(media_type, self.request.policy)
        return self.versions[media_type]

    def would_have_met(self, path: str) -> bool:
        """Whether the walk meets a file at `path` if there is one: in its scope, every folder above readable."""
        in_scope = _is_below(path, to_posix(self.request.scope))
        return in_scope and not any(_is_below(path, folder) for folder in self.unknown_below)


def _is_below(path: str, folder: str) -> bool:
    return not folder or path == folder or path.startswith(folder + "/")
