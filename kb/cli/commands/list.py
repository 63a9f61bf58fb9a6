"""`kb list docs|symbols`."""

from __future__ import annotations

from pathlib import PurePosixPath

import click

from kb.cli.call import Call, CommandGroup, json_option, pass_call, print_json
from kb.cli.filters import filter_options
from kb.cli.options import WholeNumber
from kb.cli.output.printing import echo_folded
from kb.cli.output.terminal import plain_line
from kb.domain.filters import SearchFilters
from kb.domain.symbols import shown_name
from kb.operations.inspect.inspect import list_documents, why_none
from kb.operations.inspect.symbols import list_symbols


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
@click.option("-n", "--limit", type=WholeNumber(1), help="At most this many.")
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
        for row in rows:
            print_json(row)
    else:
        for row in rows:
            path, title = plain_line(row.workspace_path), plain_line(row.title)
            parts = [path] if title == PurePosixPath(path).stem else [path, title]
            echo_folded("  ".join(parts), head=f"{row.doc_id[:12]}  {row.lang:<3} {row.chunk_count:>4}  ")
        if not rows:
            _say_none(call, filters, "no document passes these filters")
    return 0 if rows else 1


@command.command(
    "symbols",
    epilog="""\b
Examples:
  kb list symbols --path 'src/**' --kind class
  kb list symbols --symbol 'parse*' --json | jq -r .citation.uri
""",
)
@filter_options
@click.option("--path", metavar="GLOB", help="Only files that match; the same as --path-glob.")
@click.option("-n", "--limit", type=WholeNumber(1), help="At most this many.")
@json_option("Print one symbol_summary.v1 per line.")
@pass_call
def symbols(call: Call, filters: SearchFilters, path: str | None, limit: int | None, as_json: bool) -> int:
    """List what source code defines, by file and line. Exit code 1 when there is none."""
    globs = filters.path_globs if path is None else (*filters.path_globs, path)
    rows = list_symbols(call.session, filters._replace(path_globs=globs), limit)
    if as_json:
        for row in rows:
            print_json(row)
    else:
        for row in rows:
            place = f"{row.path}#L{row.line_start}-L{row.line_end}"
            echo_folded(plain_line(f"{shown_name(row.qualified_name, row.path)} ({row.kind}, {row.language})  {place}"))
        if not rows:
            _say_none(call, filters._replace(path_globs=globs), "no definition passes these filters")
    return 0 if rows else 1


def _say_none(call: Call, filters: SearchFilters, none: str) -> None:
    """Says why a list is empty."""
    is_empty = not list_documents(call.session, SearchFilters(), 1)
    why = "nothing is indexed yet: kb ingest" if is_empty else why_none(call.session, filters) or none
    echo_folded(plain_line(why), err=True)
