"""`kb eval`: golden sets, runs of them, and what has changed between two runs."""

from __future__ import annotations

from pathlib import Path

import click

from kb.cli.call import Call, CommandGroup, json_option, pass_call, print_json
from kb.cli.commands.eval_calibrate import command as calibrate
from kb.cli.commands.eval_golden import import_, judge, suite_option
from kb.cli.options import Number, WholeNumber
from kb.domain.search import MODES, SearchMode


@click.group("eval", cls=CommandGroup)
def command() -> None:
    """Measure how well questions find what they should, and whether a change made it better."""


for each in (import_, judge, calibrate):
    command.add_command(each)


@command.command(
    "run",
    epilog="""\b
Examples:
  kb eval run                          # the golden set, asked as kb search would be
  kb eval run --mode lexical --name words
  kb eval run --set search.rrf_k=20 --set search.hybrid_fusion=rrf --name rrf20
  kb eval run --with-ask --set rag.score_gate=0.5
  kb eval run --json | jq '.groups[0].ndcg_at_10'
""",
)
@suite_option
@click.option("--mode", type=click.Choice(list(MODES)), help="As in kb search.")
@click.option("-k", "--k", "k", type=WholeNumber(1, 1000), help="How many hits per question; as in kb search.")
@click.option("--name", metavar="NAME", help="What to call the run; the newest of a name counts.")
@click.option(
    "--set", "settings", metavar="KEY=VALUE", multiple=True, help="Set a key for this run: search.…, rerank.…, rag.…."
)
@click.option("--with-ask", is_flag=True, help="Answer each question too, and measure refusals and what answers say.")
@json_option("Print eval_run.v1.")
@pass_call
def run(
    call: Call,
    suite: str | None,
    mode: SearchMode | None,
    k: int | None,
    name: str | None,
    settings: tuple[str, ...],
    with_ask: bool,
    as_json: bool,
) -> int:
    """Ask every question of a golden set and measure what is found.

    Ctrl-C keeps what is measured; the same call goes on from there.
    """
    from kb.cli.interrupt import interruptible
    from kb.cli.output.progress import show_count
    from kb.cli.show.eval import show_run
    from kb.config import load
    from kb.operations.evaluate.evaluate import run_suite
    from kb.operations.evaluate.runs import RunRequest
    from kb.operations.evaluate.suite import require_search_settings, suite_file
    from kb.operations.session.session import open_session

    require_search_settings(settings)
    config = load(call.config_path, (*call.settings, *settings))
    with open_session(config, many=True) as session, show_count() as on_event, interruptible(on_event) as handle:
        asked = session.defaults.query("", mode, k)
        request = RunRequest(suite_file(config, suite), asked.mode, asked.k, name, with_ask)
        report = run_suite(session, request, handle)
    if report.index_changed:
        click.echo(
            "the index changed meanwhile: measured is what it was at the start (citations: the files as they are now)",
            err=True,
        )
    if as_json:
        from kb.domain.results.measured import EvalRun

        print_json(EvalRun(report.run, report.groups))
    else:
        show_run(report)
    return 0 if report.run.finished_at else 1


@command.command("list", epilog="\b\nExamples:\n  kb eval list\n  kb eval list --json | head -1\n")
@json_option("Print one eval_run.v1 per line.")
@pass_call
def list_(call: Call, as_json: bool) -> int:
    """List the runs, the newest first. Exit code 1 when there is none."""
    from kb.cli.show.eval import show_runs
    from kb.domain.results.measured import EvalRun
    from kb.operations.evaluate.runs import list_runs

    runs = list_runs(call.session)
    if as_json:
        for row in runs:
            print_json(EvalRun(row, row.kept_groups))
    else:
        show_runs(runs)
    return 0 if runs else 1


@command.command("forget", epilog="\b\nExamples:\n  kb eval forget rrf20\n  kb eval forget 3f9a 81c2\n")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@pass_call
def forget(call: Call, runs: tuple[str, ...]) -> None:
    """Forget runs, each by its name or the first characters of its id; their folders stay."""
    from kb.operations.evaluate.runs import forget_runs

    for row in forget_runs(call.config, runs):
        click.echo(f"forgot {row.run_id[:8]}  {row.name or ''}".rstrip())


@command.command(
    "compare",
    epilog="""\b
Examples:
  kb eval compare                                  # the two newest runs of one golden set
  kb eval compare words both --report words-both.html
  kb eval compare main mine --tolerance 0.02 --json | jq -r .verdict
""",
)
@click.argument("before", metavar="[BEFORE", required=False)
@click.argument("after", metavar="AFTER]", required=False)
@click.option("--tolerance", type=Number(0, 1), default=0.01, help="How far a metric may fall [default: 0.01].")
@click.option("--moved", type=WholeNumber(0), default=5, help="How many moved questions to show [5].")
@click.option("--report", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write an HTML page.")
@json_option("Print eval_comparison.v1.")
@pass_call
def compare(
    call: Call,
    before: str | None,
    after: str | None,
    tolerance: float,
    moved: int,
    report: Path | None,
    as_json: bool,
) -> int:
    """Compare two runs: what changed, how sure that is, and which questions moved.

    Exit code 1 when a metric fell by more than the tolerance, 2 when the runs cannot be compared: over other files,
    other questions or another number of hits.
    """
    from kb.errors import UsageError
    from kb.operations.evaluate.compare import compare_runs, write_report

    if before and not after:
        raise UsageError("one run alone", "name two, or none for the newest two: kb eval compare BEFORE AFTER")
    comparison = compare_runs(call.session, before, after, tolerance=tolerance)
    if report is not None:
        write_report(comparison, report)
    if as_json:
        from kb.domain.results.comparison import ExplainedComparison
        from kb.eval.report_html import verdict_reason

        print_json(ExplainedComparison(comparison, verdict_reason(comparison), comparison.moved[:moved]))
    else:
        from kb.cli.show.comparison import show_comparison

        show_comparison(comparison, moved=moved)
        if report is not None:
            click.echo(f"wrote {report}", err=True)
    return {"worse": 1, "not_comparable": 2}.get(comparison.verdict, 0)


@command.command("impact", epilog="\b\nExamples:\n  kb ingest && kb eval impact\n  kb eval impact --json | jq -r .id\n")
@suite_option
@json_option("Print one eval_impact.v1 per line.")
@pass_call
def impact(call: Call, suite: str | None, as_json: bool) -> int:
    """List the golden questions and stored answers whose cited lines moved, changed or vanished.

    Questions are compared with the newest complete run of the golden set; where there is no golden set, answers are
    listed alone. Exit code 1 when something changed or vanished.
    """
    from kb.operations.evaluate.impact import impact as find_impact
    from kb.operations.evaluate.impact import impact_now
    from kb.operations.evaluate.suite import suite_file

    file = suite_file(call.config, suite)
    found = (find_impact if suite or file.exists() else impact_now)(call.session, file)
    if as_json:
        for each in found:
            print_json(each)
    else:
        from kb.cli.show.eval import show_impact

        show_impact(found)
    return 1 if any(each.standing != "moved" for each in found) else 0
