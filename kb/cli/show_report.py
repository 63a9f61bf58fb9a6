"""An ingest's report as a person reads it: the counts, then what needs attention."""

from __future__ import annotations

from collections.abc import Mapping

import click

from kb.cli.terminal import plain_line
from kb.operations.report import IngestReport

_SHOWN_ITEMS = 20
_SHOWN_KINDS = 8
_MARKS = {"new": "+", "updated": "~", "moved": ">", "removed": "-"}


def show_report(report: IngestReport, *, summary_only: bool) -> None:
    """Prints what changed; warnings and errors always, single files only of a dry run or a small one."""
    counts = report.counts
    changed_count = counts.new + counts.updated + counts.moved + counts.removed
    if not summary_only and (report.dry_run or changed_count <= _SHOWN_ITEMS):
        for item in report.items:
            if item.kind not in _MARKS:
                continue
            origin = f"  (from {plain_line(item.moved_from)})" if item.moved_from else ""
            click.echo(f"  {_MARKS[item.kind]} {plain_line(item.doc_path)}{origin}")
    for item in report.items:
        for warning in item.warnings:
            click.echo(f"  ! {plain_line(item.doc_path)}: {plain_line(warning)}", err=True)
        if item.error is not None:
            click.echo(f"  ✗ {plain_line(item.doc_path)}: {plain_line(item.error.message)}", err=True)
            if item.error.hint:
                click.echo(f"      hint: {item.error.hint}", err=True)
    parts = [
        f"{counts.new} new",
        f"{counts.updated} updated",
        f"{counts.moved} moved",
        f"{counts.removed} removed",
        f"{counts.unchanged} unchanged",
        f"{counts.errors} error{'' if counts.errors == 1 else 's'}",
    ]
    head = "would be: " if report.dry_run else "stopped: " if report.aborted else ""
    work = f"{counts.chunks_indexed} chunks, {counts.embeddings_indexed} vectors, {report.duration_ms / 1000:.1f} s"
    click.echo(f"{head}{', '.join(parts)}  ({work})")
    for note in report.notes:
        click.echo(f"note: {note}", err=True)
    if report.unsupported:
        click.echo(f"not read: {_kinds(report.unsupported)}")
    reasons = [f"{count} by {reason}" for reason, count in sorted(report.skipped_by_reason.items())]
    if report.not_included:
        reasons.append(f"{report.not_included} not in workspace.include")
    if reasons:
        click.echo(f"left out by rules: {', '.join(reasons)}")


def _kinds(unsupported: Mapping[str, int]) -> str:
    """`12 .docx, 3 .hwp, 1 without an extension`: the commonest kinds first, the rest as one number."""
    ordered = sorted(unsupported.items(), key=lambda each: (-each[1], each[0]))
    parts = [f"{count} {plain_line(kind) or 'without an extension'}" for kind, count in ordered[:_SHOWN_KINDS]]
    if len(ordered) > _SHOWN_KINDS:
        others = ordered[_SHOWN_KINDS:]
        parts.append(f"{sum(count for _, count in others)} of {len(others)} other kinds")
    return ", ".join(parts)
