"""`kb ingest` and `kb ingest-file`."""

from __future__ import annotations

import sys

import click

from kb.cli.call import Call, json_option, pass_call
from kb.cli.output.ingest_report import show_report
from kb.cli.output.printing import echo_folded, print_json, print_json_with_list
from kb.cli.output.progress import ingest_progress, interruptible
from kb.domain.kinds import KINDS
from kb.domain.results.ingest import Added
from kb.domain.text import plain_line
from kb.errors import FileTooLarge, UsageError
from kb.operations.ingest.external import ExternalContent, add_external, read_external
from kb.operations.ingest.ingest import ingest
from kb.operations.ingest.requests import ingest_request, media_families

_STDIN_NAME = "stdin.md"
_MB = 1_000_000


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
        show_report(report, summary_only=summary_only)
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
            show_report(report, summary_only=True)
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
