"""`kb ingest-file`."""

from __future__ import annotations

import sys

import click

from kb.cli.call import Call, json_option, pass_call, print_json_with_list
from kb.cli.interrupt import interruptible
from kb.cli.output.printing import echo_folded
from kb.cli.output.terminal import plain_line
from kb.errors import FileTooLarge, UsageError
from kb.operations.ingest.external import Added, ExternalContent, add_external, read_external

_STDIN_NAME = "stdin.md"
_MB = 1_000_000


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
@click.option("--name", help=f"What standard input would be called; its ending says its kind [default: {_STDIN_NAME}].")
@click.option("--title", help="Written into the frontmatter of Markdown.")
@click.option("--source-uri", help="Where it comes from; written into the frontmatter of Markdown.")
@click.option("--dry-run", is_flag=True, help="Say where the copy would go; copy and index nothing.")
@click.option("--no-embed", is_flag=True, help="Leave the vectors for later: kb index --embeddings.")
@json_option("Print ingest_progress.v1 lines, then ingest_report.v1.")
@pass_call
def command(
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

    The copy goes to _external/ and is named by its content, so that the same content twice is one file. It is found,
    cited and kept by kb ingest as any other file there; delete it and run kb ingest to take it out again.
    """
    config = call.config
    if path == "-":
        content = ExternalContent(_stdin(config.indexing.max_file_mb), name or _STDIN_NAME)
    elif name is not None:
        raise UsageError("--name is for standard input", "a file has a name")
    else:
        content = read_external(config, path)
    content = content._replace(title=title, source_uri=source_uri)
    if as_json:
        from kb.cli.output.progress import print_progress

        with interruptible(print_progress) as handle:
            report = add_external(config, content, handle, embed=not no_embed, dry_run=dry_run).report
        print_json_with_list(report, report.items)
    else:
        from kb.cli.output.progress import show_progress
        from kb.cli.show.report import show_report

        with show_progress() as on_event, interruptible(on_event) as handle:
            added = add_external(config, content, handle, embed=not no_embed, dry_run=dry_run)
        report = added.report
        _say_where(added)
        if not dry_run:
            show_report(report, summary_only=True)
    return 2 if report.counts.errors else 0


def _say_where(added: Added) -> None:
    if added.was_there:
        head = "is there already: "
    elif added.report.dry_run:
        head = "would be copied to "
    elif added.report.counts.errors:
        head = "not copied: "
    else:
        head = "copied to "
    echo_folded(plain_line(added.workspace_path), head=head)


def _stdin(limit_mb: int) -> bytes:
    """What is on standard input. Raises: FileTooLarge."""
    data = sys.stdin.buffer.read(limit_mb * _MB + 1)
    if len(data) > limit_mb * _MB:
        raise FileTooLarge(f"more than {limit_mb} MB on standard input", "the limit is indexing.max_file_mb")
    return data
