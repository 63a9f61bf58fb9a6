"""`kb eval`: golden sets, runs of them, what changed between two runs, and calibration."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click

from kb.cli.call import Call, CommandGroup, Number, WholeNumber, json_option, pass_call
from kb.cli.output.evaluation import show_calibration, show_comparison, show_impact, show_run, show_runs
from kb.cli.output.printing import echo_result, echo_rows, print_json
from kb.cli.output.progress import interruptible, show_progress
from kb.config import load
from kb.domain.citations import Citation
from kb.domain.results.evaluation import ExplainedComparison
from kb.domain.search import MODES, Passage, SearchMode
from kb.domain.text import plain, plain_line
from kb.errors import UsageError
from kb.eval.report import verdict_reason
from kb.operations.evaluate.calibrate import calibrate
from kb.operations.evaluate.golden_sets import (
    append_question,
    import_suite,
    judged_question,
    require_search_settings,
    suite_file,
)
from kb.operations.evaluate.runs import (
    TOLERANCE,
    RunRequest,
    compare_runs,
    forget_runs,
    impact,
    impact_now,
    list_runs,
    run_suite,
    write_report,
)
from kb.operations.opening.base import open_base
from kb.operations.search.search import search

_GRADES = {"y": 1, "1": 1, "2": 2, "3": 3, "n": 0, "0": 0}
_HANGUL_KEYS = {"ㅛ": "y", "ㅜ": "n", "ㄴ": "s", "ㅂ": "q"}  # the same keys where the keyboard is set to Korean
_KEYS = "y/1 relevant, 2 very, 3 it is this, n not, s stop here, q keep nothing"

suite_option = click.option("--suite", metavar="FILE", help="The golden set [default: eval.suite].")


@click.group("eval", cls=CommandGroup)
def eval_command() -> None:
    """Measure search and answers by golden questions, and whether a change made them better."""


@eval_command.command(
    "import",
    epilog="""\b
Examples:
  kb eval import ~/sets/cranfield
  kb eval import ~/sets/squad2 --queries refusal.jsonl --suite refusal.yaml
""",
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, exists=True, file_okay=False))
@suite_option
@click.option("--queries", default="queries.jsonl", metavar="NAME", help="The questions, one JSON object per line.")
@click.option("--qrels", default="qrels.tsv", metavar="NAME", help="The judgements: query_id, path, relevance.")
@click.option("--prefix", default="", metavar="PATH/", help="Folder of the documents below the workspace root.")
@click.option("--name", metavar="NAME", help="Name of the set [default: the folder's name].")
@click.option("--force", is_flag=True, help="Replace the golden set that is there.")
@pass_call
def import_command(
    call: Call, folder: Path, suite: str | None, queries: str, qrels: str, prefix: str, name: str | None, force: bool
) -> None:
    """Make a golden set of a judged folder: queries.jsonl and qrels.tsv.

    A line of queries.jsonl is {"id": "q1", "text": "언제 고치나?"}; one that the notes do not answer says "answerable":
    false. qrels.tsv begins with query_id, path, relevance, separated by tabs; a question it does not judge is left out.
    """
    target = suite_file(call.config, suite)
    files = {"queries": queries, "qrels": qrels, "prefix": prefix}
    golden, left_out = import_suite(folder, target, **files, suite=name, force=force)
    click.echo(f"wrote {target}: {len(golden.questions)} questions")
    if left_out:
        click.echo(f'left out: {left_out} without a judgement, and not marked "answerable": false', err=True)


@eval_command.command(
    "judge",
    epilog="""\b
Examples:
  kb eval judge "청킹 규칙은?"
  echo nny | kb eval judge "retry backoff" --k 3 --category exact
""",
)
@click.argument("query")
@suite_option
@click.option("-k", "--k", "k", type=WholeNumber(1, 100), default=5, help="Number of hits to judge [5].")
@click.option("--mode", type=click.Choice(list(MODES)), help="As in kb search.")
@click.option("--category", metavar="NAME", help="Kind of question, e.g. exact.")
@pass_call
def judge_command(
    call: Call, query: str, suite: str | None, k: int, mode: SearchMode | None, category: str | None
) -> int:
    """Search, judge each hit with one key, and add the question to the golden set.

    Keys: y or 1 relevant, 2 and 3 more so, n not, s stop here, q keep nothing; in a pipe, the characters of stdin.
    Where no hit is relevant the question is kept as unanswerable. Exit code 1 when nothing is found.
    """
    target = suite_file(call.config, suite)
    hits = search(call.session, call.session.defaults.query(query, mode, k)).hits
    if not hits:
        click.echo("no hits to judge")
        return 1
    question = judged_question(target, query, _judge_hits(hits), category)
    append_question(target, question)
    relevant = f"{len(question.expected)} relevant" if question.answerable else "unanswerable"
    click.echo(f"added {question.id} to {target}: {relevant}")
    return 0


def _judge_hits(hits: Sequence[Passage]) -> list[tuple[Citation, int]]:
    """Asks for a grade of each hit; returns the places of the judged hits with their grades.

    Raises: click.Abort for q, and where the input ends before anything is judged.
    """
    click.echo(_KEYS, err=True)
    next_key = keys_typed()
    judged: list[tuple[Citation, int]] = []
    for hit in hits:
        click.echo(f"\n{hit.rank}. {plain_line(hit.citation.to_uri())}", err=True)
        click.echo(f"   {plain(hit.snippet)}", err=True)
        key = _valid(next_key)
        if key == "q" or (key == "" and not judged):
            raise click.Abort
        if key in ("s", ""):
            break
        judged.append((hit.citation, _GRADES[key]))
    return judged


def _valid(next_key: Callable[[], str]) -> str:
    """The next key that is a grade or a command; empty at the end of the input."""
    while True:
        click.echo(" ? ", err=True, nl=False)
        key = next_key().lower()
        click.echo(plain_line(key), err=True)
        if key in ("", "s", "q") or key in _GRADES:
            return key
        click.echo(f"   {_KEYS}", err=True)


def keys_typed() -> Callable[[], str]:
    """A function that returns the next key: pressed on a terminal, else read from stdin; white space is skipped."""
    typed = _pressed() if sys.stdin.isatty() else (char for line in sys.stdin for char in line)
    keys = (_HANGUL_KEYS.get(char, char) for char in typed if not char.isspace())
    return lambda: next(keys, "")


def _pressed() -> Iterator[str]:
    """Yields keys pressed on the terminal, also if several arrive at once; an arrow key is one sequence."""
    while True:
        pressed = click.getchar()
        yield from [pressed] if pressed.startswith("\x1b") else pressed


@eval_command.command(
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
@click.option("-k", "--k", "k", type=WholeNumber(1, 1000), help="Number of hits per question; as in kb search.")
@click.option("--name", metavar="NAME", help="Name of the run; the newest run of a name counts.")
@click.option(
    "--set", "settings", metavar="KEY=VALUE", multiple=True, help="Set a key for this run: search.…, rerank.…, rag.…."
)
@click.option("--with-ask", is_flag=True, help="Also answer each question, and measure refusals and answers.")
@json_option("Print eval_run.v1.")
@pass_call
def run_command(
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

    Ctrl-C keeps what was measured so far; the same command continues from there.
    """
    require_search_settings(settings)
    config = load(str(call.config.file) if call.config.file else None, (*call.settings, *settings))
    with open_base(config, many=True) as session, interruptible(show_progress()) as handle:
        asked = session.defaults.query("", mode, k)
        request = RunRequest(suite_file(config, suite), asked.mode, asked.k, name, with_ask)
        report = run_suite(session, request, handle)
    if report.index_changed:
        measured = "measured is what it was at the start (citations: the files as they are now)"
        click.echo(f"the index changed meanwhile: {measured}", err=True)
    if as_json:
        print_json(report.run)
    else:
        show_run(report)
    return 0 if report.run.finished_at else 1


@eval_command.command("list", epilog="\b\nExamples:\n  kb eval list\n  kb eval list --json | head -1\n")
@json_option("Print one eval_run.v1 per line.")
@pass_call
def list_command(call: Call, as_json: bool) -> int:
    """List the runs, the newest first. Exit code 1 when there is none."""
    runs = list_runs(call.session)
    if as_json:
        echo_rows((run.with_kept_groups() for run in runs), as_json, print_json)
    else:
        show_runs(runs)
    return 0 if runs else 1


@eval_command.command("forget", epilog="\b\nExamples:\n  kb eval forget rrf20\n  kb eval forget 3f9a 81c2\n")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@pass_call
def forget_command(call: Call, runs: tuple[str, ...]) -> None:
    """Forget runs, each by its name or the first characters of its id; their folders stay."""
    for row in forget_runs(call.config, runs):
        click.echo(f"forgot {row.run_id[:8]}  {row.name or ''}".rstrip())


@eval_command.command(
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
@click.option(
    "--tolerance", type=Number(0, 1), default=TOLERANCE, help=f"How far a metric may fall [default: {TOLERANCE}]."
)
@click.option("--moved", type=WholeNumber(0), default=5, help="Number of moved questions to show [5].")
@click.option("--report", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write an HTML page.")
@json_option("Print eval_comparison.v1.")
@pass_call
def compare_command(
    call: Call, before: str | None, after: str | None, tolerance: float, moved: int, report: Path | None, as_json: bool
) -> int:
    """Compare two runs: what changed, how sure that is, and which questions moved.

    Exit code 1 when a metric fell by more than the tolerance, 2 when the runs cannot be compared: over other files,
    other questions or another number of hits.
    """
    if before and not after:
        raise UsageError("one run alone", "name two, or none for the newest two: kb eval compare BEFORE AFTER")
    comparison = compare_runs(call.session, before, after, tolerance=tolerance)
    if report is not None:
        write_report(comparison, report)
    if as_json:
        print_json(ExplainedComparison(comparison, verdict_reason(comparison), comparison.moved[:moved]))
    else:
        show_comparison(comparison, moved=moved)
        if report is not None:
            click.echo(f"wrote {report}", err=True)
    return {"worse": 1, "not_comparable": 2}.get(comparison.verdict, 0)


@eval_command.command(
    "impact", epilog="\b\nExamples:\n  kb ingest && kb eval impact\n  kb eval impact --json | jq -r .id\n"
)
@suite_option
@json_option("Print one eval_impact.v1 per line.")
@pass_call
def impact_command(call: Call, suite: str | None, as_json: bool) -> int:
    """List the golden questions and stored answers whose cited lines moved, changed or vanished.

    Questions are compared with the newest complete run of the golden set; where there is no golden set, answers are
    listed alone. Exit code 1 when something changed or vanished.
    """
    file = suite_file(call.config, suite)
    found = (impact if suite or file.exists() else impact_now)(call.session, file)
    if as_json:
        echo_rows(found, as_json, print_json)
    else:
        show_impact(found)
    return 1 if any(each.standing != "moved" for each in found) else 0


@eval_command.command(
    "calibrate",
    epilog="""\b
Examples:
  kb eval calibrate --answerable known.txt --unanswerable unknown.txt
  kb --set rag.score_gate=0.4 ask "when is it due?"
""",
)
@click.option("--answerable", type=click.Path(path_type=Path), metavar="FILE", help="Questions the notes answer.")
@click.option("--unanswerable", type=click.Path(path_type=Path), metavar="FILE", help="Questions they do not.")
@json_option("Print eval_calibration.v2.")
@pass_call
def calibrate_command(call: Call, answerable: Path | None, unanswerable: Path | None, as_json: bool) -> None:
    """See what kb ask refuses and answers of your own questions, at each rag.score_gate and rag.answer_precision.

    A file has one question per line: plain text, or JSON. {"text": "when is it due?", "expected": "notes/a.md"} says
    where the answer is (a path, path#L3-L9, or a list of them), "must_contain": ["2 years"] what it must contain. Such
    lines measure how often answers are right; all lines measure how often questions are refused. Nothing is changed.
    """
    if not answerable or not unanswerable:
        raise UsageError("it takes questions of both kinds", "kb eval calibrate --answerable FILE --unanswerable FILE")
    with open_base(call.config, many=True) as session, interruptible(show_progress()) as handle:
        report = calibrate(session, answerable, unanswerable, handle)
    echo_result(report, as_json, show_calibration)
