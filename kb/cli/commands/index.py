"""`kb index`."""

from __future__ import annotations

import click

from kb.cli.session import Session, json_option, pass_session, print_json
from kb.errors import UsageError
from kb.operations.index import rebuild_fts


@click.command("index", epilog="\b\nExamples:\n  kb index --rebuild-fts     after kb doctor says so\n")
@click.option("--rebuild-fts", "fts", is_flag=True, help="Fill the lexical index anew from the stored chunks.")
@json_option("Print index_report.v1.")
@pass_session
def command(session: Session, fts: bool, as_json: bool) -> None:
    """Make parts of the index anew from what is stored; your files are not read."""
    if not fts:
        raise UsageError("nothing to do", "say what to rebuild: kb index --rebuild-fts")
    report = rebuild_fts(session.config.sqlite)
    if as_json:
        from kb.wire.index_report import index_report_v1

        print_json(index_report_v1(report))
    else:
        click.echo(f"lexical index rebuilt: {report.fts_rows} chunks")
