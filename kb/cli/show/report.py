"""An ingest's report as a person reads it: the counts, then what needs attention."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kb.cli.output.printing import echo_folded
from kb.cli.output.terminal import plain_line
from kb.domain.results.ingest import IngestReport, LinksOutside

_SHOWN_ITEMS = 20
_SHOWN_KINDS = 40
_SHOWN_LINKS = 3
_SAME_WARNINGS = 3
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
            echo_folded(f"{plain_line(item.doc_path)}{origin}", head=f"  {_MARKS[item.kind]} ")
    for head, line in _warnings(report):
        echo_folded(line, head=head, err=True)
    for item in report.items:
        if item.error is not None:
            echo_folded(f"{plain_line(item.doc_path)}: {plain_line(item.error.message)}", head="  ✗ ", err=True)
            if item.error.hint:
                echo_folded(plain_line(item.error.hint), head="      hint: ", err=True)
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
    echo_folded(f"{', '.join(parts)}  ({work})", head=head)
    for note in report.notes:
        echo_folded(plain_line(note), head="note: ", err=True)
    if report.unsupported:
        echo_folded(_kinds(report.unsupported), head="not read: ")
    reasons = [f"{count} by {reason}" for reason, count in sorted(report.skipped_by_reason.items())]
    if report.not_included:
        reasons.append(f"{report.not_included} not in workspace.include")
    if reasons:
        echo_folded(", ".join(reasons), head="left out by rules: ")
    if report.links_outside.count:
        echo_folded(_links(report.links_outside))


def _warnings(report: IngestReport) -> Iterator[tuple[str, str]]:
    """The head and the text of each line: `a.md: empty file: no text`; what many files have stands once above them."""
    paths: dict[str, list[str]] = {}
    for item in report.items:
        for warning in item.warnings:
            kind, _, note = plain_line(warning).partition(": ")
            paths.setdefault(f"{kind.replace('_', ' ')}: {note}", []).append(plain_line(item.doc_path))
    for said, where in paths.items():
        if len(where) <= _SAME_WARNINGS:
            yield from (("  ! ", f"{path}: {said}") for path in where)
            continue
        yield "  ! ", f"{said} in {len(where)} files:"
        yield from (("      ", path) for path in where[:_SAME_WARNINGS])
        yield "      ", f"and {len(where) - _SAME_WARNINGS} more"


def _links(links: LinksOutside) -> str:
    """`2 links lead out of the workspace: a → /b, c → /d (followed; …)`."""
    named = [f"{plain_line(path)} → {plain_line(target)}" for path, target in links.named[:_SHOWN_LINKS]]
    if links.count > len(named):
        named.append(f"{links.count - len(named)} more")
    what = "1 link leads" if links.count == 1 else f"{links.count} links lead"
    done = (
        "followed; workspace.follow_outside = false leaves them out"
        if links.followed
        else "left out by workspace.follow_outside"
    )
    return f"{what} out of the workspace: {', '.join(named)} ({done})"


def _kinds(unsupported: Mapping[str, int]) -> str:
    """`12 .docx, 3 .hwp, 1 without an extension`: the commonest first; of very many the last are named by `--json`."""
    ordered = sorted(unsupported.items(), key=lambda each: (-each[1], each[0]))
    parts = [f"{count} {plain_line(kind) or 'without an extension'}" for kind, count in ordered[:_SHOWN_KINDS]]
    if len(ordered) > _SHOWN_KINDS:
        others = ordered[_SHOWN_KINDS:]
        parts.append(f"{sum(count for _, count in others)} of {len(others)} other kinds, which --json names")
    return ", ".join(parts)
