"""`kb index`."""

from __future__ import annotations

import click

from kb.cli.call import Call, json_option, pass_call, print_json
from kb.cli.interrupt import interruptible
from kb.cli.output.printing import echo_folded
from kb.domain.results.upkeep import RebuildReport, VectorTable
from kb.errors import UsageError
from kb.operations.admin.index import RebuildRequest, rebuild, show_tables
from kb.operations.embedding.plan import EmbeddingPlan, embedding_plan
from kb.operations.inspect.listing import base_status


@click.command(
    "index",
    epilog="""\b
Examples:
  kb index                              # which vectors there are, by model
  kb index --embeddings                 # embed what has no vectors yet (continues where it stopped)
  kb index --embeddings --model NAME    # embed with another model as well, into its own table
  kb index --drop-unused                # remove the tables of models that are not configured
  kb index --rebuild-mirror             # after kb doctor says so
  kb index --ann                        # for more than about 50,000 passages
""",
)
@click.option("--embeddings", is_flag=True, help="Embed every passage that has no vectors yet.")
@click.option("--model", metavar="NAME", help="With --embeddings: prepare this model; searches stay as they are.")
@click.option("--resume", is_flag=True, help="Continue where an earlier run stopped; --embeddings always does.")
@click.option("--rebuild-fts", "fts", is_flag=True, help="Rebuild the full-text index from the stored passages.")
@click.option("--rebuild-mirror", "mirror", is_flag=True, help="Rebuild the vector tables in SQLite from Lance.")
@click.option("--rebuild-lance", "lance", is_flag=True, help="Rebuild the Lance tables from SQLite.")
@click.option("--ann", is_flag=True, help="Build the approximate nearest-neighbour index.")
@click.option("--drop-unused", is_flag=True, help="Remove the vectors of models that are not configured.")
@json_option("Print index_report.v1.")
@pass_call
def command(
    call: Call,
    embeddings: bool,
    model: str | None,
    resume: bool,
    fts: bool,
    mirror: bool,
    lance: bool,
    ann: bool,
    drop_unused: bool,
    as_json: bool,
) -> None:
    """Rebuild parts of the index from what is stored, without reading your files; with no option, show its vectors.

    To change the model: embed with --model while the old one still answers, then name it in the configuration and
    run kb ingest, which then only switches to the new vectors.
    """
    request = RebuildRequest(fts, mirror, lance, embeddings or resume, ann, drop_unused, model)
    if model is not None and not request.embeddings:
        raise UsageError("--model goes with --embeddings", f"kb index --embeddings --model {model}")
    plan = embedding_plan(call.config)
    report = _rebuilt(call, request, plan) if request != RebuildRequest() else show_tables(call.session, plan)
    if as_json:
        print_json(report)
    elif request != RebuildRequest():
        _show_done(request, report)
        _show_next(request, report)
    else:
        _show_tables(report)
        for waiting in base_status(call.session).missing if report.tables else ():
            echo_folded(waiting, head="note: ", err=True)


def _rebuilt(call: Call, request: RebuildRequest, plan: EmbeddingPlan) -> RebuildReport:
    from kb.cli.output.progress import show_progress

    with show_progress() as on_event, interruptible(on_event) as handle:
        return rebuild(call.config.sqlite, request, plan, handle)


def _show_done(request: RebuildRequest, report: RebuildReport) -> None:
    for asked, line in (
        (request.fts, f"lexical index: {report.fts_rows} chunks"),
        (request.mirror or report.mirror_rows, f"vector tables in SQLite: {report.mirror_rows} vectors from Lance"),
        (request.lance, f"Lance tables: {report.lance_rows} vectors from SQLite"),
        (request.embeddings, f"embedded {report.embedded}, from the cache {report.from_cache}"),
        (request.ann, f"ANN index over {report.ann_vectors} vectors"),
    ):
        if asked:
            click.echo(line)
    for table in report.dropped:
        click.echo(f"removed {table.model or table.lance_table}: {table.vectors} vectors, {_shown_mb(table)}")
    if request.drop_unused and not report.dropped:
        click.echo("no vectors are unused")


def _show_next(request: RebuildRequest, report: RebuildReport) -> None:
    if report.aborted:
        click.echo("stopped; kb index --embeddings goes on from here")
    elif any(table.used_as is None and _is_named(table, request.model) for table in report.tables):
        click.echo(f'ready, not searched yet: set models.embedding.model = "{request.model}", then: kb ingest')


def _is_named(table: VectorTable, name: str | None) -> bool:
    return name is not None and table.model is not None and table.model.casefold() == name.casefold()


def _show_tables(report: RebuildReport) -> None:
    if not report.tables:
        click.echo("no passage has a vector yet: kb index --embeddings makes them")
    for table in report.tables:
        used_as = table.used_as or "unused"
        name = table.model or table.lance_table
        head = f"{used_as:<10} {name:<24} "
        echo_folded(f"{table.vectors:,} vectors, {_shown_mb(table)}", head=head)
    if any(table.used_as is None for table in report.tables):
        click.echo("kb index --drop-unused removes what is unused")


def _shown_mb(table: VectorTable) -> str:
    return f"{table.size_bytes / 1e6:.1f} MB"
