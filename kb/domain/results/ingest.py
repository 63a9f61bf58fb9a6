"""What an ingest did: counts, the files that changed or failed, and the time each stage took."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from time import perf_counter_ns

from kb.domain.ingest.ingest_events import IngestCounts, Result
from kb.errors import KbError

EXAMPLES_PER_REASON = 5
LINKS_NAMED = 50
ITEMS_PER_PACK = 200


@dataclass(frozen=True, slots=True)
class IngestItem:
    """One file that changed or failed; files that stayed as they were are only counted."""

    kind: Result
    doc_path: str
    doc_id: str | None = None
    asset_id: str | None = None
    moved_from: str | None = None
    byte_len: int | None = None
    block_count: int | None = None
    chunk_count: int | None = None
    parser_version: str | None = None
    chunker_version: str | None = None
    warnings: tuple[str, ...] = ()
    error: KbError | None = None


class ItemLog:
    """Items in the order they were added, the older ones packed: a first ingest has as many as there are files."""

    def __init__(self) -> None:
        self._packed: list[bytes] = []
        self._recent: list[IngestItem] = []

    def append(self, item: IngestItem) -> None:
        """Add one item at the end."""
        self._recent.append(item)
        if len(self._recent) == ITEMS_PER_PACK:
            self._packed.append(zlib.compress(pickle.dumps(self._recent), level=1))
            self._recent = []

    def __len__(self) -> int:
        return ITEMS_PER_PACK * len(self._packed) + len(self._recent)

    def __iter__(self) -> Iterator[IngestItem]:
        for pack in self._packed:
            yield from pickle.loads(zlib.decompress(pack))
        yield from self._recent


@dataclass(slots=True)
class StageTimes:
    """Wall time by stage, in nanoseconds; stages of several processes add up."""

    ns: dict[str, int] = field(default_factory=dict)

    @contextmanager
    def measure(self, stage: str) -> Iterator[None]:
        """Adds the time of the block to `stage`."""
        start = perf_counter_ns()
        try:
            yield
        finally:
            self.ns[stage] = self.ns.get(stage, 0) + perf_counter_ns() - start

    def add(self, others: StageTimes) -> None:
        """Adds what another process took."""
        for stage, ns in others.ns.items():
            self.ns[stage] = self.ns.get(stage, 0) + ns

    def to_ms(self) -> dict[str, int]:
        """Whole milliseconds by stage."""
        return {stage: ns // 1_000_000 for stage, ns in self.ns.items()}


@dataclass(slots=True)
class LinksOutside:
    """The links that lead out of the workspace: how many, and the first of them, each with its target."""

    count: int = 0
    followed: bool = True
    named: list[tuple[str, str]] = field(default_factory=list)

    def add(self, path: str, target: str, followed: bool) -> None:
        """Count one; all links of a run are followed, or none is."""
        self.count += 1
        self.followed = followed
        if len(self.named) < LINKS_NAMED:
            self.named.append((path, target))


@dataclass(slots=True)
class IngestReport:
    """One run of ingest, as it is shown and kept in `ingest_runs`."""

    root: str
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    started_at: str
    dry_run: bool = False
    aborted: bool = False
    finished_at: str = ""
    duration_ms: int = 0
    counts: IngestCounts = field(default_factory=IngestCounts)
    skipped_by_reason: dict[str, int] = field(default_factory=dict)
    skip_examples: dict[str, list[str]] = field(default_factory=dict)
    unsupported: Mapping[str, int] = field(default_factory=dict)  # files of kinds kb does not read, by extension
    not_included: int = 0
    links_outside: LinksOutside = field(default_factory=LinksOutside)
    notes: list[str] = field(default_factory=list)
    items: ItemLog = field(default_factory=ItemLog)
    stages: StageTimes = field(default_factory=StageTimes)

    def skip(self, reason: str, path: str) -> None:
        """Count a file or folder that a rule left out."""
        self.counts.skipped += 1
        self.skipped_by_reason[reason] = self.skipped_by_reason.get(reason, 0) + 1
        examples = self.skip_examples.setdefault(reason, [])
        if len(examples) < EXAMPLES_PER_REASON:
            examples.append(path)

    def add(self, item: IngestItem) -> None:
        """Record one file's outcome."""
        self.counts.add(item.kind)
        self.items.append(item)


def item_json(item: IngestItem) -> dict[str, object]:
    """One item as it is kept and sent; keys without a value are left out."""
    values: dict[str, object] = {field.name: getattr(item, field.name) for field in fields(item)}
    if item.error is not None:
        values["error"] = {"code": item.error.code, "message": item.error.message, "hint": item.error.hint}
    return {name: value for name, value in values.items() if value not in (None, ())}
