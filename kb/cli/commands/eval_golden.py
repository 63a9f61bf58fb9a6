"""`kb eval import` and `kb eval judge`: how a golden set comes to be."""

from __future__ import annotations

from pathlib import Path

import click

from kb.cli.call import Call, pass_call
from kb.cli.options import WholeNumber
from kb.domain.search import MODES, SearchMode

suite_option = click.option("--suite", metavar="FILE", help="The golden set [default: eval.suite].")


@click.command(
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
@click.option("--prefix", default="", metavar="PATH/", help="Where the documents lie below the workspace root.")
@click.option("--name", metavar="NAME", help="What the set is called [default: the folder's name].")
@click.option("--force", is_flag=True, help="Replace the golden set that is there.")
@pass_call
def import_(
    call: Call,
    folder: Path,
    suite: str | None,
    queries: str,
    qrels: str,
    prefix: str,
    name: str | None,
    force: bool,
) -> None:
    """Make a golden set of a judged folder: queries.jsonl and qrels.tsv.

    A line of queries.jsonl is {"id": "q1", "text": "언제 고치나?"}; one that the notes do not answer says "answerable":
    false. qrels.tsv begins with query_id, path, relevance, separated by tabs; a question it does not judge is left out.
    """
    from kb.operations.evaluate.suite import import_suite, suite_file

    target = suite_file(call.config, suite)
    golden, left_out = import_suite(
        folder, target, queries=queries, qrels=qrels, prefix=prefix, suite=name, force=force
    )
    click.echo(f"wrote {target}: {len(golden.questions)} questions")
    if left_out:
        click.echo(f'left out: {left_out} without a judgement, and not marked "answerable": false', err=True)


@click.command(
    "judge",
    epilog="""\b
Examples:
  kb eval judge "청킹 규칙은?"
  echo nny | kb eval judge "retry backoff" --k 3 --category exact
""",
)
@click.argument("query")
@suite_option
@click.option("-k", "--k", "k", type=WholeNumber(1, 100), default=5, help="How many hits to judge [5].")
@click.option("--mode", type=click.Choice(list(MODES)), help="As in kb search.")
@click.option("--category", metavar="NAME", help="What kind of question it is.")
@pass_call
def judge(call: Call, query: str, suite: str | None, k: int, mode: SearchMode | None, category: str | None) -> int:
    """Search, judge each hit with one key, and add the question to the golden set.

    Keys: y or 1 relevant, 2 and 3 more so, n not, s stop here, q keep nothing; in a pipe, the characters of stdin.
    Where no hit is relevant the question is kept as unanswerable. Exit code 1 when nothing is found.
    """
    from kb.cli.judging import judge_hits
    from kb.operations.evaluate.judge import append_question, judged_question
    from kb.operations.evaluate.suite import suite_file
    from kb.operations.search.search import search
    from kb.operations.session.session import open_session

    config = call.config
    target = suite_file(config, suite)
    with open_session(config) as opened:
        hits = search(opened, opened.defaults.query(query, mode, k)).hits
    if not hits:
        click.echo("no hits to judge")
        return 1
    question = judged_question(target, query, judge_hits(hits), category)
    append_question(target, question)
    relevant = f"{len(question.expected)} relevant" if question.answerable else "unanswerable"
    click.echo(f"added {question.id} to {target}: {relevant}")
    return 0
