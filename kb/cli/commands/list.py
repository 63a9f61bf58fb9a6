"""`kb list docs`."""

from __future__ import annotations

from pathlib import PurePosixPath

import click

from kb.cli.call import Call, CommandGroup, json_option, pass_call, print_json
from kb.cli.filters import filter_options
from kb.cli.output.printing import echo_folded
from kb.cli.output.terminal import plain_line
from kb.domain.search import SearchFilters
from kb.operations.inspect.inspect import list_documents


@click.group("list", cls=CommandGroup)
def command() -> None:
    """List what is indexed."""


@command.command(
    "docs",
    epilog="""\b
Examples:
  kb list docs --lang ko --tag 회의
  kb list docs --path-glob 'papers/**' --json | jq -r .doc_path
""",
)
@filter_options
@click.option("--limit", type=click.IntRange(1), help="At most this many.")
@json_option("Print one doc_summary.v1 per line.")
@pass_call
def docs(
    call: Call,
    filters: SearchFilters,
    limit: int | None,
    as_json: bool,
) -> int:
    """List documents in the order of their paths. Exit code 1 when there is none."""
    rows = list_documents(call.session, filters, limit)
    if as_json:
        from kb.wire.inspect.doc_summary import doc_summary_v1

        for row in rows:
            print_json(doc_summary_v1(row))
    else:
        for row in rows:
            path, title = plain_line(row.workspace_path), plain_line(row.title)
            parts = [path] if title == PurePosixPath(path).stem else [path, title]
            echo_folded("  ".join(parts), head=f"{row.doc_id[:12]}  {row.lang:<3} {row.chunk_count:>4}  ")
        if not rows:
            is_filtered = filters != SearchFilters()
            echo_folded(
                "no document passes these filters" if is_filtered else "nothing is indexed yet: kb ingest", err=True
            )
    return 0 if rows else 1
