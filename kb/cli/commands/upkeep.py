"""`kb index`, `kb cache`, `kb forget` and `kb reset`: commands that rebuild, shrink or remove data kb has made."""

from __future__ import annotations

import re
import shlex
from functools import partial

import click

from kb.cli.call import Call, CommandGroup, json_option, pass_call
from kb.cli.output.printing import confirmed, echo_folded, echo_result, print_json, size_mb
from kb.cli.output.progress import interruptible, show_progress
from kb.domain.results.upkeep import (
    CacheReport,
    ForgetReport,
    RebuildReport,
    RemovedPart,
    ResetPart,
    ResetReport,
    VectorTable,
)
from kb.domain.text import plain_line
from kb.errors import UsageError
from kb.operations.admin.index import RebuildRequest, cache_stats, prune_caches, rebuild, show_tables
from kb.operations.admin.removal import RESET_PARTS, Named, forget, plan_forget, plan_reset, reset
from kb.operations.embedding.plan import embedding_plan
from kb.operations.inspect.status import base_status

_UNITS = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000}

_FORGOTTEN_SHOWN = 20

_AFTER_RESET = {
    "vectors": "kb index --embeddings makes them again",
    "index": "kb ingest reads your files again",
    "everything": "kb ingest starts from the beginning",
}


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
def index_command(
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
    if request == RebuildRequest():
        echo_result(show_tables(call.session, plan), as_json, partial(_show_tables, call))
        return
    with interruptible(show_progress()) as handle:
        report = rebuild(call.config.sqlite, request, plan, handle)
    echo_result(report, as_json, partial(_show_rebuilt, request))


def _show_rebuilt(request: RebuildRequest, report: RebuildReport) -> None:
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
        click.echo(f"removed {_name(table)}: {table.vectors} vectors, {size_mb(table.size_bytes)}")
    if request.drop_unused and not report.dropped:
        click.echo("no vectors are unused")
    wanted = (request.model or "").casefold()
    if report.aborted:
        click.echo("stopped; kb index --embeddings goes on from here")
    elif any(table.used_as is None and wanted and (table.model or "").casefold() == wanted for table in report.tables):
        click.echo(f'ready, not searched yet: set models.embedding.model = "{request.model}", then: kb ingest')


def _show_tables(call: Call, report: RebuildReport) -> None:
    if not report.tables:
        click.echo("no passage has a vector yet: kb index --embeddings makes them")
    for table in report.tables:
        head = f"{table.used_as or 'unused':<10} {_name(table):<24} "
        echo_folded(f"{table.vectors:,} vectors, {size_mb(table.size_bytes)}", head=head)
    if any(table.used_as is None for table in report.tables):
        click.echo("kb index --drop-unused removes what is unused")
    for waiting in base_status(call.session).missing if report.tables else ():
        echo_folded(waiting, head="note: ", err=True)


def _name(table: VectorTable) -> str:
    return table.model or table.lance_table


@click.group("cache", cls=CommandGroup)
def cache_command() -> None:
    """Show and shrink the caches of extracted text and vectors.

    Deleting them costs time, never data.
    """


@cache_command.command("stats", epilog="\b\nExamples:\n  kb cache stats\n  kb cache stats --json | jq .byte_len\n")
@json_option("Print cache_report.v1.")
@pass_call
def cache_stats_command(call: Call, as_json: bool) -> None:
    """Show the size of the caches."""
    echo_result(cache_stats(call.config), as_json, _show_caches)


@cache_command.command(
    "prune", epilog="\b\nExamples:\n  kb cache prune --max-size 500MB\n  kb cache prune --max-size 0\n"
)
@click.option("--max-size", required=True, metavar="SIZE", help="Maximum size of all caches, e.g. 500MB or 2GB.")
@json_option("Print cache_report.v1.")
@pass_call
def cache_prune_command(call: Call, max_size: str, as_json: bool) -> None:
    """Delete the least recently used entries."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([kmg]?)b?", max_size.strip().lower())
    if match is None:
        raise UsageError(f"{max_size!r} is not a size", "a size looks like 500MB or 2GB")
    report = prune_caches(call.config, int(float(match[1]) * _UNITS[match[2]]))
    echo_result(report, as_json, _show_caches)


def _show_caches(report: CacheReport) -> None:
    for part in report.parts:
        head = f"{part.name:<8} {part.entries:>9,}  {size_mb(part.byte_len):>9}  "
        echo_folded(plain_line(str(part.path)), head=head)
    if report.freed_bytes:
        click.echo(f"freed {size_mb(report.freed_bytes)}")


@click.command(
    "forget",
    epilog="""\b
Examples:
  kb forget notes/old.md                    # says what is kept of it, and asks
  kb forget notes/old.md --yes              # does not ask
  kb forget private/ --ignore               # a folder, and never again
  kb forget --tag secret
  kb forget --path-glob 'scans/2019/**'
  kb forget notes/old.md --json             # what would be forgotten
""",
)
@click.argument("path", required=False)
@click.option("--tag", metavar="TAG", help="The documents with this tag, or one below it.")
@click.option("--path-glob", metavar="GLOB", help="The paths that match, e.g. 'private/**' (gitignore syntax).")
@click.option("--ignore", is_flag=True, help="Also add them to .kbignore of the workspace.")
@click.option("--yes", is_flag=True, help="Forget without asking.")
@json_option("Print forget_report.v1; without --yes a dry run.")
@pass_call
def forget_command(
    call: Call, path: str | None, tag: str | None, path_glob: str | None, ignore: bool, yes: bool, as_json: bool
) -> int:
    """Forget documents: remove their text from all that kb stores.

    This removes passages, vectors, copies, OCR text, transcripts, caches, answers and conversations that use them,
    evaluation runs, records of texts that agents received, and logs. Your files stay: the next kb ingest reads them
    again unless you delete or ignore them. Exit code 1 when kb stores nothing of them, or you decline.
    """
    named = Named(path, tag, path_glob)
    report = plan_forget(call.config, named)
    if report.paths and not as_json:
        show_what_goes(report)
    if report.paths and (yes or (not as_json and confirmed("Forget it?"))):
        with interruptible(show_progress()) as handle:
            report = forget(call.config, named, handle, ignore=ignore)
    if as_json:
        print_json(report)
    elif not report.paths:
        click.echo("kb keeps nothing of it")
    elif report.done:
        click.echo("forgotten")
        _show_what_stays(report)
    return 0 if report.done or (as_json and report.paths) else 1


def show_what_goes(report: ForgetReport) -> None:
    """Prints the paths that are to be forgotten, and what is stored of them."""
    for each in report.paths[:_FORGOTTEN_SHOWN]:
        echo_folded(plain_line(each))
    if len(report.paths) > _FORGOTTEN_SHOWN:
        click.echo(f"and {len(report.paths) - _FORGOTTEN_SHOWN:,} more")
    click.echo("is to be forgotten:" if len(report.paths) == 1 else "are to be forgotten:")
    for part in report.parts:
        where = "" if part.path is None else f"  {plain_line(str(part.path))}"
        name = part.name.removesuffix("s") if part.entries == 1 else part.name
        echo_folded(f"{name}{where}", head=f"{part.entries:>12,} ")
    click.echo("and copies, derived texts and cached work of documents that are gone")


def _show_what_stays(report: ForgetReport) -> None:
    if not report.stays:
        return
    files = "The file stays" if len(report.stays) == 1 else f"The {len(report.stays):,} files stay"
    if report.ignored:
        echo_folded(plain_line(f"{files}; {report.ignore_file} keeps kb from reading again what it names"))
        return
    click.echo(f"{files}: kb ingest reads again what is not removed, or ignored by")
    words = " ".join(shlex.quote(line) for line in report.ignore_lines)
    echo_folded(plain_line(f"printf '%s\\n' {words} >> {shlex.quote(str(report.ignore_file))}"))


@click.command(
    "reset",
    epilog="""\b
Examples:
  kb reset index              # what it would remove; nothing is removed
  kb reset index --yes        # documents, passages and vectors; answers stay
  kb reset vectors --yes      # found by words until they are made again
  kb reset answers --yes      # answers and conversations
  kb reset everything --yes   # all that kb has made, also where its file is damaged
""",
)
@click.argument("part", type=click.Choice(RESET_PARTS))
@click.option("--yes", is_flag=True, help="Remove it; without this option, only show what would be removed.")
@json_option("Print reset_report.v1.")
@pass_call
def reset_command(call: Call, part: ResetPart, yes: bool, as_json: bool) -> None:
    """Remove data that kb has made: the vectors, the index, the answers, or everything.

    Your files, the configuration, golden questions and installed models stay.
    """
    if yes:
        with interruptible(show_progress()) as handle:
            report = reset(call.config, part, handle)
    else:
        report = plan_reset(call.config, part)
    echo_result(report, as_json, show_reset)


def show_reset(report: ResetReport, *, of_vault: bool = False) -> None:
    """Prints what was removed or would be, and for `kb reset` what to do then."""
    click.echo("removed:" if report.done else "would be removed:")
    for each in report.parts:
        _show_removed(each)
    if not report.parts:
        click.echo("     nothing: there is none")
    if report.done and report.part in _AFTER_RESET:
        click.echo(_AFTER_RESET[report.part])
    elif not (report.done or of_vault):
        click.echo(f"Nothing was removed. To remove it: kb reset {report.part} --yes")


def _show_removed(part: RemovedPart) -> None:
    size = "" if part.byte_len is None else size_mb(part.byte_len)
    if part.path is None:
        click.echo(f"{part.entries:>12,} {part.name}{f'  ({size})' if size else ''}")
    else:
        echo_folded(plain_line(str(part.path)), head=f"{size:>12} ")
