"""`kb sql`: the plain sqlite3 program over this knowledge base."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from kb.cli.call import Call, json_option, pass_call, print_json
from kb.cli.filters import filter_options
from kb.cli.options import WholeNumber
from kb.cli.output.printing import echo_fields, echo_folded
from kb.domain.filters import SearchFilters
from kb.domain.results.inspection import BoundQuery
from kb.domain.search import MODES, SearchMode
from kb.errors import UsageError
from kb.operations.inspect.sql_shell import bind_query, init_lines, query_lines, write_init_file

_EPILOG = """\b
Examples:
  kb sql                                       # how to, with the paths of this knowledge base
  kb sql --rc                                  # write kb.rc, then: sqlite3 -init kb.rc
  kb sql --rc kb.rc --query "청킹 규칙"          # with that question's parameters in it
  kb sql --query "retry" --tag infra --json | jq .params
"""


@click.command("sql", epilog=_EPILOG)
@click.option("--rc", metavar="[FILE]", is_flag=False, flag_value="kb.rc", help="Write an init file; - prints it.")
@click.option("--writable", is_flag=True, help="With --rc: leave the database open for writing.")
@click.option("--query", metavar="QUERY", help="Set the parameters that kb search would bind for this question.")
@click.option("--mode", type=click.Choice(list(MODES)), help="As in kb search.")
@click.option("-k", "--k", "k", type=WholeNumber(1, 1000), help="How many hits [default: search.default_k].")
@filter_options
@json_option("Print sql_query.v1.")
@pass_call
def command(
    call: Call,
    rc: str | None,
    writable: bool,
    query: str | None,
    mode: SearchMode | None,
    k: int | None,
    filters: SearchFilters,
    as_json: bool,
) -> None:
    """Prepare the plain sqlite3 program for this knowledge base.

    An init file opens the knowledge base read-only and sets every parameter of the search statements, so that .read
    gives the rows of kb search. --query sets them for a question, in the init file or by themselves.
    """
    config = call.config
    if query is None and (k is not None or filters != SearchFilters()):
        raise UsageError("a filter without a question", 'example: kb sql --query "retry" --tag infra')
    if as_json and (query is None or rc is not None):
        raise UsageError("--json goes with --query alone", 'example: kb sql --query "retry" --json')
    if writable and rc is None:
        raise UsageError("--writable goes with --rc", "example: kb sql --rc kb.rc --writable")
    bound = bind_query(call.session, call.session.defaults.query(query or "", mode, k, filters))
    if rc is not None:
        _give_init_file(rc, init_lines(config.sqlite, bound, writable=writable), config.sqlite, writable)
    elif as_json:
        print_json(bound)
    elif query is not None:
        click.echo("\n".join(query_lines(bound)))
    else:
        _show_how(config.sqlite, bound)


def _give_init_file(rc: str, lines: list[str], sqlite: Path, writable: bool) -> None:
    if rc == "-":
        click.echo("\n".join(lines))
        return
    write_init_file(Path(rc), lines)
    database = f" {shlex.quote(str(sqlite))}" if writable else ""
    click.echo(f"wrote {rc}; now: sqlite3 -init {shlex.quote(rc)}{database}", file=sys.stderr)


def _show_how(sqlite: Path, bound: BoundQuery) -> None:
    statements = bound.statement.parents[1]
    echo_fields([("database", str(sqlite)), ("statements", str(statements))])
    click.echo()
    echo_folded("Look around, read-only, with the parameters of kb's own statements set:")
    click.echo(f"""\
  kb sql --rc kb.rc
  sqlite3 -init kb.rc
  sqlite> SELECT * FROM corpus_stats;

Ask what kb search asks, and get the same rows:
  kb sql --rc kb.rc --query "your question"
  sqlite3 -init kb.rc {shlex.quote(str(sqlite))} '.read "{bound.statement}"'

Change things (kb ingest brings back what your files say):
  kb sql --rc kb-rw.rc --writable
  sqlite3 -init kb-rw.rc {shlex.quote(str(sqlite))}

Views: document_overview, chunk_source, corpus_stats.""")
