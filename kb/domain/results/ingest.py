"""Results of an ingest: counts, the files that changed or failed, and the time of each stage."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from time import perf_counter_ns
from typing import Annotated, Literal, NamedTuple

from kb.domain.ingest_events import IngestCounts, Result
from kb.domain.on_wire import Wire, on_wire
from kb.errors import KbError

Unread = Literal["failed", "left out", "waiting"]
"""Why a file is not read: its bytes, a rule about its content, or an engine that is not there."""

UNREAD_WORDS: Mapping[str, str] = {
    "extract_failed": "damaged, or not of their kind",
    "engine_failed": "fail in their engine",
    "password_needed": "encrypted",
    "file_too_large": "too large",
    "file_unreadable": "not readable",
    "file_vanished": "links to nowhere",
    "file_named_twice": "called as another file is",
    "file_not_regular": "no regular files",
    "path_not_unicode": "named in no UTF-8",
    "archives_off": "archives",
    "engine_off": "for engines that are off",
    "model_missing": "for engines that are not installed",
    "not_read_yet": "not read yet",
}
"""What files are that are not read, by the code of the reason; for others the code says it."""

EXAMPLES_PER_REASON = 5
LINKS_NAMED = 50
ITEMS_PER_PACK = 200


class IngestItemError(NamedTuple):
    """Why one file could not be indexed."""

    code: str
    message: str
    hint: str | None


@on_wire(
    fields="""kind doc_path doc_id? asset_id? moved_from? byte_len? block_count? chunk_count? parser_version?
        chunker_version? warnings error=failure"""
)
@dataclass(frozen=True, slots=True)
class IngestItem:
    """One file that changed or failed."""

    kind: Annotated[Result, Wire(type=Literal["new", "updated", "moved", "removed", "error"])]
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

    def failure(self) -> IngestItemError | None:
        """Why the file could not be indexed; None if it was."""
        return None if self.error is None else IngestItemError(self.error.code, self.error.message, self.error.hint)


class UnreadFile(NamedTuple):
    """A file that was not read: its state and reason, which reader tried it, and since when.

    `mtime_ns` is 0 if the next ingest tries the file again although it has not changed.
    """

    workspace_path: str
    source_path: str
    family: str | None
    byte_len: int
    mtime_ns: int
    reader: str
    outcome: Annotated[str, Wire(type=Unread)]
    code: str
    message: str
    hint: str | None
    since: str


class ItemLog:
    """A list of items in the order in which they were added. Older items are packed, as a first ingest has one for
    every file.
    """

    def __init__(self) -> None:
        self._packed: list[bytes] = []
        self._recent: list[IngestItem] = []

    def append(self, item: IngestItem) -> None:
        """Adds one item at the end."""
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
    """Wall time by stage, in nanoseconds; the times of several processes are added."""

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
        """Adds the times of another process."""
        for stage, ns in others.ns.items():
            self.ns[stage] = self.ns.get(stage, 0) + ns

    def to_ms(self) -> dict[str, int]:
        """Whole milliseconds by stage."""
        return {stage: ns // 1_000_000 for stage, ns in self.ns.items()}


@on_wire(fields="doc_path target")
class OutsideLink(NamedTuple):
    """A symbolic link out of the workspace; `target` is the real path that it leads to."""

    # `followed`: its target is among the results of the walk.
    doc_path: str
    target: str
    followed: bool


@dataclass(slots=True)
class LinksOutside:
    """How many symbolic links lead out of the workspace, whether they were followed, and the first fifty of them."""

    count: int = 0
    followed: bool = True
    named: list[OutsideLink] = field(default_factory=list)

    def add(self, link: OutsideLink) -> None:
        """Counts one link. A run follows all of these links or none."""
        self.count += 1
        self.followed = link.followed
        if len(self.named) < LINKS_NAMED:
            self.named.append(link)


class IngestScope(NamedTuple):
    """The folder of an ingest, and its patterns of files to include and to exclude."""

    root: str
    include: tuple[str, ...]
    exclude: tuple[str, ...]


class SkippedByRule(NamedTuple):
    """How many files and folders each rule left out."""

    skipped_gitignore: int
    skipped_kbignore: int
    skipped_builtin_blacklist: int
    skipped_config: int
    skipped_generated: int
    skipped_size_exceeded: int


# The rules in that order, and those whose counters have a name of their own.
_RULES = ("gitignore", "kbignore", "builtin", "config", "generated", "too large")
_NAMED = {"builtin": "builtin_blacklist", "too large": "size_exceeded"}


def _by_rule(examples: Mapping[str, list[str]]) -> dict[str, list[str]]:
    return {_NAMED.get(rule, rule): paths for rule, paths in examples.items()}


def _sorted(unsupported: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(unsupported.items()))


@on_wire(
    "ingest_report.v1",
    fields="""scope dry_run aborted scanned=counts.scanned new=counts.new updated=counts.updated moved=counts.moved
        removed=counts.removed unchanged=counts.unchanged skipped=counts.skipped errors=counts.errors duration_ms
        *skipped_by_rule unsupported=unsupported_count unsupported_by_extension=unsupported not_included links_outside
        skip_examples stages_ms=stages.to_ms embeddings_indexed=counts.embeddings_indexed
        still_unread=counts.still_unread notes items=no_items""",
)
@dataclass(slots=True)
class IngestReport:
    """Counts, the files that changed or failed (null with --summary-only), and milliseconds by stage.

    `skipped` counts files and folders that rules left out, `skipped_*` those of one rule, and `skip_examples` names
    some for each rule. `unchanged` counts files that stayed as they were. `unsupported` counts files of kinds that kb
    does not read, `unsupported_by_extension` the same by extension (`""` for names without one). `still_unread` counts
    files that an earlier run could not read and this run did not try again, `not_included` files that
    `workspace.include` does not name.
    """

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
    skip_examples: Annotated[dict[str, list[str]], Wire(by=_by_rule)] = field(default_factory=dict)
    unsupported: Annotated[Mapping[str, int], Wire(by=_sorted)] = field(default_factory=dict)
    not_included: int = 0
    links_outside: LinksOutside = field(default_factory=LinksOutside)
    notes: list[str] = field(default_factory=list)
    items: ItemLog = field(default_factory=ItemLog)
    # Pictures, scans and recordings that a run for `kb watch` leaves until the other text is embedded.
    slow_left: int = 0
    stages: StageTimes = field(default_factory=StageTimes)

    @property
    def scope(self) -> IngestScope:
        """The folder and the patterns of the ingest."""
        return IngestScope(self.root, self.include, self.exclude)

    @property
    def skipped_by_rule(self) -> SkippedByRule:
        """How many files and folders each rule left out."""
        return SkippedByRule(*(self.skipped_by_reason.get(rule, 0) for rule in _RULES))

    @property
    def unsupported_count(self) -> int:
        """How many files are of kinds that kb does not read."""
        return sum(self.unsupported.values())

    def no_items(self) -> list[IngestItem] | None:
        """None in place of the items: there may be many, so they are written one at a time."""
        return None

    def skip(self, reason: str, path: str) -> None:
        """Counts a file or folder that a rule left out."""
        self.counts.skipped += 1
        self.skipped_by_reason[reason] = self.skipped_by_reason.get(reason, 0) + 1
        examples = self.skip_examples.setdefault(reason, [])
        if len(examples) < EXAMPLES_PER_REASON:
            examples.append(path)

    def add(self, item: IngestItem) -> None:
        """Records the outcome of one file."""
        self.counts.add(item.kind)
        self.items.append(item)


@on_wire(fields="*report")
class Added(NamedTuple):
    """The path of a copy below the workspace, whether it existed before, and the report of the ingest or dry run."""

    workspace_path: str
    was_there: bool
    report: IngestReport


def item_json(item: IngestItem) -> dict[str, object]:
    """One item as JSON for storage and output; keys without a value are left out."""
    values: dict[str, object] = {field.name: getattr(item, field.name) for field in fields(item)}
    if (failure := item.failure()) is not None:
        values["error"] = failure._asdict()
    return {name: value for name, value in values.items() if value not in (None, ())}
