"""ingest_report.v1: what an ingest did; the last line of `kb ingest --json`."""

from __future__ import annotations

from typing import Literal, NotRequired, cast

from typing_extensions import TypedDict

from kb.domain.results.ingest import IngestItem, IngestReport, item_json


class IngestScopeV1(TypedDict):
    """What the ingest was about."""

    root: str
    include: list[str]
    exclude: list[str]


class IngestItemErrorV1(TypedDict):
    """Why one file could not be indexed."""

    code: str
    message: str
    hint: str | None


class IngestItemV1(TypedDict):
    """One file that changed or failed."""

    kind: Literal["new", "updated", "moved", "removed", "error"]
    doc_path: str
    doc_id: NotRequired[str]
    asset_id: NotRequired[str]
    moved_from: NotRequired[str]
    byte_len: NotRequired[int]
    block_count: NotRequired[int]
    chunk_count: NotRequired[int]
    parser_version: NotRequired[str]
    chunker_version: NotRequired[str]
    warnings: list[str]
    error: IngestItemErrorV1 | None


class OutsideLinkV1(TypedDict):
    """A link that leads out of the workspace, and the real path it leads to."""

    doc_path: str
    target: str


class LinksOutsideV1(TypedDict):
    """How many links lead out of the workspace, whether they were followed, and the first fifty of them."""

    count: int
    followed: bool
    named: list[OutsideLinkV1]


class IngestReportV1(TypedDict):
    """Counts, the files that changed or failed (null with --summary-only), and milliseconds by stage.

    `skipped` counts files and folders left out by a rule, `skipped_*` those of one rule, and `skip_examples` names some
    of each; a file that stayed as it was is `unchanged`. `unsupported` counts files of kinds that kb does not read,
    `unsupported_by_extension` by kind (`""` for names that tell none); `not_included` those that `workspace.include`
    does not ask for.
    """

    schema_version: Literal["ingest_report.v1"]
    scope: IngestScopeV1
    dry_run: bool
    aborted: bool
    scanned: int
    new: int
    updated: int
    moved: int
    removed: int
    unchanged: int
    skipped: int
    errors: int
    duration_ms: int
    skipped_gitignore: int
    skipped_kbignore: int
    skipped_builtin_blacklist: int
    skipped_config: int
    skipped_generated: int
    skipped_size_exceeded: int
    unsupported: int
    unsupported_by_extension: dict[str, int]
    not_included: int
    links_outside: LinksOutsideV1
    skip_examples: dict[str, list[str]]
    stages_ms: dict[str, int]
    embeddings_indexed: int
    notes: list[str]
    items: list[IngestItemV1] | None


# Rules whose counters have a name of their own.
_NAMED = {"builtin": "builtin_blacklist", "too large": "size_exceeded"}


def ingest_report_v1(report: IngestReport, *, summary_only: bool) -> IngestReportV1:
    """The wire form of a report."""
    counts, skipped = report.counts, report.skipped_by_reason
    return {
        "schema_version": "ingest_report.v1",
        "scope": {"root": report.root, "include": list(report.include), "exclude": list(report.exclude)},
        "dry_run": report.dry_run,
        "aborted": report.aborted,
        "scanned": counts.scanned,
        "new": counts.new,
        "updated": counts.updated,
        "moved": counts.moved,
        "removed": counts.removed,
        "unchanged": counts.unchanged,
        "skipped": counts.skipped,
        "errors": counts.errors,
        "duration_ms": report.duration_ms,
        "skipped_gitignore": skipped.get("gitignore", 0),
        "skipped_kbignore": skipped.get("kbignore", 0),
        "skipped_builtin_blacklist": skipped.get("builtin", 0),
        "skipped_config": skipped.get("config", 0),
        "skipped_generated": skipped.get("generated", 0),
        "skipped_size_exceeded": skipped.get("too large", 0),
        "unsupported": sum(report.unsupported.values()),
        "unsupported_by_extension": dict(sorted(report.unsupported.items())),
        "not_included": report.not_included,
        "links_outside": {
            "count": report.links_outside.count,
            "followed": report.links_outside.followed,
            "named": [{"doc_path": path, "target": target} for path, target in report.links_outside.named],
        },
        "skip_examples": {_NAMED.get(rule, rule): paths for rule, paths in report.skip_examples.items()},
        "stages_ms": report.stages.to_ms(),
        "embeddings_indexed": counts.embeddings_indexed,
        "notes": report.notes,
        "items": None if summary_only else [ingest_item_v1(item) for item in report.items],
    }


def ingest_item_v1(item: IngestItem) -> IngestItemV1:
    """The wire form of one file that changed or failed."""
    return cast(IngestItemV1, {"warnings": [], "error": None, **item_json(item)})
