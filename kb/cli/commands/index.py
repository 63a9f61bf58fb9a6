"""`kb index`."""

from __future__ import annotations

import gc

import click

from kb.cli.interrupt import interruptible
from kb.cli.session import Session, json_option, pass_session, print_json
from kb.errors import UsageError
from kb.operations.embedding_plan import embedding_plan
from kb.operations.index import RebuildRequest, rebuild


@click.command(
    "index",
    epilog="""\b
Examples:
  kb index --embeddings                 embed what has no vectors yet (goes on where it stopped)
  kb index --embeddings --model NAME    embed with another model, into its own table
  kb index --rebuild-mirror             after kb doctor says so
  kb index --ann                        for more than about 50,000 passages
""",
)
@click.option("--embeddings", is_flag=True, help="Give every passage its vectors.")
@click.option("--model", metavar="NAME", help="With --embeddings: this primary model instead of the configured one.")
@click.option("--resume", is_flag=True, help="Go on where an earlier run stopped; --embeddings always does.")
@click.option("--rebuild-fts", "fts", is_flag=True, help="Fill the lexical index anew from the stored chunks.")
@click.option("--rebuild-mirror", "mirror", is_flag=True, help="Fill the vector tables in SQLite anew from Lance.")
@click.option("--rebuild-lance", "lance", is_flag=True, help="Fill the Lance tables anew from SQLite.")
@click.option("--ann", is_flag=True, help="Build the approximate nearest-neighbour index.")
@json_option("Print index_report.v1.")
@pass_session
def command(
    session: Session,
    embeddings: bool,
    model: str | None,
    resume: bool,
    fts: bool,
    mirror: bool,
    lance: bool,
    ann: bool,
    as_json: bool,
) -> None:
    """Make parts of the index anew from what is stored; your files are not read."""
    gc.enable()
    request = RebuildRequest(fts=fts, mirror=mirror, lance=lance, embeddings=embeddings or resume, ann=ann)
    if request == RebuildRequest():
        raise UsageError("nothing to do", "say what to make anew, e.g. kb index --embeddings")
    plan = embedding_plan(session.config)
    if model is not None:
        plan = plan.with_primary(model)
    from kb.cli.progress import show_progress

    with interruptible() as is_canceled, show_progress() as on_event:
        report = rebuild(session.config.sqlite, request, plan, on_event, is_canceled)
    if as_json:
        from kb.wire.index_report import index_report_v1

        print_json(index_report_v1(report))
        return
    for asked, line in (
        (request.fts, f"lexical index: {report.fts_rows} chunks"),
        (request.mirror or report.mirror_rows, f"vector tables in SQLite: {report.mirror_rows} vectors from Lance"),
        (request.lance, f"Lance tables: {report.lance_rows} vectors from SQLite"),
        (request.embeddings, f"embedded {report.embedded}, from the cache {report.from_cache}"),
        (request.ann, f"ANN index over {report.ann_vectors} vectors"),
    ):
        if asked:
            click.echo(line)
    if report.aborted:
        click.echo("stopped; kb index --embeddings goes on from here")
