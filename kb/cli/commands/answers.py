"""`kb answers list|show`."""

from __future__ import annotations

import click

from kb.answer.wording import outcome_words
from kb.cli.call import Call, CommandGroup, json_option, pass_call, print_json
from kb.cli.options import WholeNumber
from kb.cli.output.printing import echo_folded
from kb.cli.output.terminal import plain_line, plain_start
from kb.cli.output.times import local_time
from kb.operations.answers.history import find_answer, list_answers


@click.group("answers", cls=CommandGroup)
def command() -> None:
    """Show earlier answers."""


@command.command("list", epilog="\b\nExamples:\n  kb answers list --limit 5\n  kb answers list --json | jq -r .query\n")
@click.option("-n", "--limit", type=WholeNumber(1), default=20, show_default=True, help="At most this many.")
@json_option("Print one answer_summary.v1 per line.")
@pass_call
def list_(call: Call, limit: int, as_json: bool) -> int:
    """List the answers, the newest first, with local times. Exit code 1 when there is none."""
    rows = list_answers(call.session, limit)
    for row in rows:
        if as_json:
            print_json(row)
        else:
            quoted = row.model_provider == "extractive"
            is_sure = row.state == "answered"
            grounded = bool(row.grounded)
            outcome = outcome_words("en", row.refusal_reason, is_quoted=quoted, grounded=grounded, is_sure=is_sure)
            head = f"{row.trace_id}  {local_time(row.created_at)}  {outcome:<12}  "
            echo_folded(plain_start(row.query), head=head)
    if not rows and not as_json:
        click.echo('no answer was given yet: kb ask "…"', err=True)
    return 0 if rows else 1


@command.command(
    "show", epilog="\b\nExamples:\n  kb answers show            # the last one\n  kb answers show ret_4a8b --explain\n"
)
@click.argument("id", required=False)
@click.option("--explain", is_flag=True, help="Show the source of each sentence.")
@json_option("Print answer.v1.")
@pass_call
def show(call: Call, id: str | None, explain: bool, as_json: bool) -> None:
    """Show an answer again: by its id or the start of one, else the last."""
    from kb.cli.remember import remember
    from kb.operations.answers.last_shown import shown_answer

    answer = find_answer(call.session, id)
    remember(call.config.data_dir, shown_answer(answer))
    if as_json:
        print_json(answer)
        return
    from kb.cli.show.answer import show_answer

    head = f"{answer.retrieval.trace_id}  {local_time(answer.created_at)}  "
    echo_folded(plain_line(answer.question), head=head)
    click.echo()
    show_answer(answer, explain=explain)
