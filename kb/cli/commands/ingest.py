"""`kb ingest` and `kb ingest-file`; an ingest's report: the counts, then what needs attention."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import click

from kb.cli.call import Call, json_option, pass_call
from kb.cli.output.printing import echo_folded, print_json, print_json_with_list
from kb.cli.output.progress import ingest_progress, interruptible
from kb.domain.kinds import KINDS, family_of, media_type_of
from kb.domain.results.ingest import IngestReport, LinksOutside
from kb.domain.text import plain_line
from kb.errors import FileTooLarge, UsageError
from kb.operations.ingest.external import Added, ExternalContent, add_external, read_external
from kb.operations.ingest.ingest import ingest
from kb.operations.ingest.requests import ingest_request, media_families

_STDIN_NAME = "stdin.md"
_MB = 1_000_000

SHOWN_ITEMS = 20
_SHOWN_KINDS = 40
_SHOWN_LINKS = 3
_SAME_PLACES = 3
_MOST_LINES = 16
_PLACE = re.compile(r"\b(byte|column|line|offset) \d[\d,]*")
MARKS = {"new": "+", "updated": "~", "moved": ">", "removed": "-"}


@click.command(
    "ingest",
    epilog="""\b
Examples:
  kb ingest                    # everything new or changed below workspace.root
  kb ingest projects/kb        # only this folder
  kb ingest --media markdown   # only notes; what needs an engine stays as it is
  kb ingest --dry-run          # what would change, changing nothing
  kb ingest --json | tail -1   # the report
""",
)
@click.argument("path", required=False)
@click.option("--dry-run", is_flag=True, help="Show what would change; change nothing.")
@click.option("--allow-empty", is_flag=True, help="Empty the knowledge base when the workspace is empty.")
@click.option("--moved", is_flag=True, help="Continue after the workspace folder was moved or renamed.")
@click.option("--no-embed", is_flag=True, help="Do not compute vectors now; kb index --embeddings does it later.")
@click.option("--retry", is_flag=True, help="Read again what could not be read before and has not changed.")
@click.option("--for-watch", is_flag=True, hidden=True, help="As a process of kb watch: print JSON, embed in turns.")
@click.option(
    "--media", metavar="KIND,…", help=f"Only these kinds of files: {', '.join(KINDS.families)} [default: all]."
)
@click.option("--summary-only", is_flag=True, help="Do not list the files in the report.")
@json_option("Print ingest_progress.v1 lines, then ingest_report.v1.")
@pass_call
def ingest_command(
    call: Call,
    path: str | None,
    dry_run: bool,
    allow_empty: bool,
    moved: bool,
    no_embed: bool,
    retry: bool,
    for_watch: bool,
    media: str | None,
    summary_only: bool,
    as_json: bool,
) -> int:
    """Update the index from your files: new, changed, moved and deleted ones.

    PATH is a file or folder below the workspace root. Ctrl-C stops after the current document; the next run continues
    from there. Searching works meanwhile.
    """
    families = None if media is None else media_families(media, call.config)
    request = ingest_request(
        call.config,
        path,
        dry_run=dry_run,
        allow_empty=allow_empty,
        embed=not no_embed,
        families=families,
        moved=moved,
        retry=retry,
        for_watch=for_watch,
    )
    if for_watch:
        from kb.cli.watch_ingest import ingest_for_watch

        return ingest_for_watch(call, request)
    with interruptible(ingest_progress(as_json=as_json)) as handle:
        report = ingest(request, handle)
    if not as_json:
        _show_report(report, summary_only=summary_only)
    elif summary_only:
        print_json(report)
    else:
        print_json_with_list(report, report.items)
    return 2 if report.counts.errors and not report.counts.scanned else 0


@click.command(
    "ingest-file",
    epilog="""\b
Examples:
  kb ingest-file ~/Downloads/paper.pdf
  curl -s https://example.org/a.md | kb ingest-file - --title "A post" --source-uri example.org/a
  pbpaste | kb ingest-file - --name snippet.py
  kb ingest-file paper.pdf --dry-run          # where its copy would go
""",
)
@click.argument("path")
@click.option("--name", help=f"File name for standard input; its extension gives the kind [default: {_STDIN_NAME}].")
@click.option("--title", help="Title to write into Markdown frontmatter.")
@click.option("--source-uri", help="Origin to write into Markdown frontmatter.")
@click.option("--dry-run", is_flag=True, help="Show where the copy would go; copy and index nothing.")
@click.option("--no-embed", is_flag=True, help="Do not compute vectors now; kb index --embeddings does it later.")
@json_option("Print ingest_progress.v1 lines, then ingest_report.v1.")
@pass_call
def ingest_file_command(
    call: Call,
    path: str,
    name: str | None,
    title: str | None,
    source_uri: str | None,
    dry_run: bool,
    no_embed: bool,
    as_json: bool,
) -> int:
    """Copy a file from elsewhere, or text from standard input (-), into the workspace, and index it.

    The copy goes to _external/ and is named by its content: adding the same content twice gives one file. kb treats it
    like any other file of the workspace. To remove it, delete the copy and run kb ingest.
    """
    config = call.config
    if path == "-":
        content = ExternalContent(_stdin(config.indexing.max_file_mb), name or _STDIN_NAME)
    elif name is not None:
        raise UsageError("--name is for standard input", "a file has a name")
    else:
        content = read_external(config, path)
    content = content._replace(title=title, source_uri=source_uri)
    with interruptible(ingest_progress(as_json=as_json)) as handle:
        added = add_external(config, content, handle, embed=not no_embed, dry_run=dry_run)
    report = added.report
    if as_json:
        print_json_with_list(report, report.items)
    else:
        echo_folded(plain_line(added.workspace_path), head=_copied(added))
        if not dry_run:
            _show_report(report, summary_only=True)
    return 2 if report.counts.errors else 0


def _copied(added: Added) -> str:
    if added.was_there:
        return "is there already: "
    if added.report.dry_run:
        return "would be copied to "
    return "not copied: " if added.report.counts.errors else "copied to "


def _stdin(limit_mb: int) -> bytes:
    """The bytes on standard input. Raises: FileTooLarge."""
    data = sys.stdin.buffer.read(limit_mb * _MB + 1)
    if len(data) > limit_mb * _MB:
        raise FileTooLarge(f"more than {limit_mb} MB on standard input", "the limit is indexing.max_file_mb")
    return data


def _show_report(report: IngestReport, *, summary_only: bool) -> None:
    """Prints the changes: always warnings and errors; single files only of a dry run or a small run."""
    counts = report.counts
    changed_count = counts.new + counts.updated + counts.moved + counts.removed
    if not summary_only and (report.dry_run or changed_count <= SHOWN_ITEMS):
        for item in report.items:
            if item.kind not in MARKS:
                continue
            origin = f"  (from {plain_line(item.moved_from)})" if item.moved_from else ""
            echo_folded(f"{plain_line(item.doc_path)}{origin}", head=f"  {MARKS[item.kind]} ")
    for head, line in _shortened(_attention(report)):
        echo_folded(line, head=head, err=True)
    head = "would be: " if report.dry_run else "stopped: " if report.aborted else ""
    changes = f"{counts.new} new, {counts.updated} updated, {counts.moved} moved, {counts.removed} removed"
    changes += f", {counts.unchanged} unchanged, {counts.errors} error{'' if counts.errors == 1 else 's'}"
    work = f"{counts.chunks_indexed} chunks, {counts.embeddings_indexed} vectors, {report.duration_ms / 1000:.1f} s"
    echo_folded(f"{changes}  ({work})", head=head)
    if changed_count > SHOWN_ITEMS:
        echo_folded(_read(report), head="read: ")
    for note in report.notes:
        echo_folded(plain_line(note), head="note: ", err=True)
    if counts.still_unread:
        files = "1 file is" if counts.still_unread == 1 else f"{counts.still_unread:,} files are"
        echo_folded(f"{files} unread as before: kb status says why, kb ingest --retry reads them again")
    if report.unsupported:
        echo_folded(_kinds(report.unsupported), head="not read: ")
    reasons = [f"{count} by {reason}" for reason, count in sorted(report.skipped_by_reason.items())]
    if report.not_included:
        reasons.append(f"{report.not_included} not in workspace.include")
    if reasons:
        echo_folded(", ".join(reasons), head="left out by rules: ")
    if report.links_outside.count:
        echo_folded(_links(report.links_outside))


_Line: TypeAlias = tuple[str, str]
"""The head of a line, and what it says."""


def _attention(report: IngestReport) -> Iterator[_Line]:
    """Errors, then warnings: `a.md: empty file: no text`; what is said of many files is said once, and before others.

    Places in files make no difference.
    """
    warned: dict[tuple[str, str], list[_Line]] = {}
    failed: dict[tuple[str, str], list[_Line]] = {}
    for item in report.items:
        path = plain_line(item.doc_path)
        for warning in item.warnings:
            kind, _, note = plain_line(warning).partition(": ")
            what = f"{kind.replace('_', ' ')}: {note}"
            warned.setdefault((_PLACE.sub(r"\1 …", what), ""), []).append((path, what))
        if item.error is not None:
            what, hint = plain_line(item.error.message), plain_line(item.error.hint or "")
            failed.setdefault((_PLACE.sub(r"\1 …", what), hint), []).append((path, what))
    for mark, said in (("✗", failed), ("!", warned)):
        for (common, hint), each in sorted(said.items(), key=lambda group: -len(group[1])):
            paths = [path for path, _ in each]
            of_each = [f"{path}: {what}" for path, what in each]
            for line in of_each if len(each) <= _SAME_PLACES else [_of_many(common, paths)]:
                yield f"  {mark} ", line
            if hint:
                yield "      hint: ", hint


def _of_many(what: str, paths: Sequence[str]) -> str:
    return f"{what} in {len(paths)} files: {', '.join(paths[:_SAME_PLACES])} and {len(paths) - _SAME_PLACES} more"


def _shortened(lines: Iterable[_Line]) -> Iterator[_Line]:
    """The first lines, and how many more there are."""
    every = list(lines)
    shown = every if len(every) <= _MOST_LINES else every[: _MOST_LINES - 1]
    yield from shown
    if len(every) > len(shown):
        yield "  … ", f"{len(every) - len(shown)} more lines of this, which --json gives by file"


def _read(report: IngestReport) -> str:
    """`120 markdown, 30 html`: the files that were read, by kind, the commonest first."""
    read = (media_type_of(item.doc_path) for item in report.items if item.kind in ("new", "updated"))
    families = Counter(family_of(media_type) if media_type else "others" for media_type in read)
    return ", ".join(f"{count:,} {family}" for family, count in families.most_common()) or "nothing"


def _links(links: LinksOutside) -> str:
    """`2 links lead out of the workspace: a → /b, c → /d (followed; …)`."""
    named = [f"{plain_line(path)} → {plain_line(target)}" for path, target, _ in links.named[:_SHOWN_LINKS]]
    if links.count > len(named):
        named.append(f"{links.count - len(named)} more")
    what = "1 link leads" if links.count == 1 else f"{links.count} links lead"
    setting = "workspace.follow_outside"
    treated = f"followed; {setting} = false leaves them out" if links.followed else f"left out by {setting}"
    return f"{what} out of the workspace: {', '.join(named)} ({treated})"


def _kinds(unsupported: Mapping[str, int]) -> str:
    """`12 .docx, 3 .hwp, 1 without an extension`: the commonest first; a long list is cut and points to `--json`."""
    ordered = sorted(unsupported.items(), key=lambda each: (-each[1], each[0]))
    parts = [f"{count} {plain_line(kind) or 'without an extension'}" for kind, count in ordered[:_SHOWN_KINDS]]
    if len(ordered) > _SHOWN_KINDS:
        others = ordered[_SHOWN_KINDS:]
        parts.append(f"{sum(count for _, count in others)} of {len(others)} other kinds, which --json names")
    return ", ".join(parts)
