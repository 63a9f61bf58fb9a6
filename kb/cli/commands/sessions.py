"""`kb sessions list|show|delete`."""

from __future__ import annotations

import click

from kb.cli.call import Call, CommandGroup, json_option, pass_call, print_json
from kb.cli.output.printing import echo_folded, echo_text
from kb.cli.output.terminal import plain_line
from kb.cli.output.times import local_time
from kb.domain.results.answers import Conversation
from kb.operations.answers.history import delete_session, list_sessions, show_session
from kb.operations.opening.clock import from_ns


@click.group("sessions", cls=CommandGroup)
def command() -> None:
    """Show and delete conversations, begun with kb ask --session NAME."""


@command.command("list", epilog="\b\nExamples:\n  kb sessions list\n  kb sessions list --json | jq -r .session_id\n")
@json_option("Print one chat_session.v1 per line, without its turns.")
@pass_call
def list_(call: Call, as_json: bool) -> int:
    """List the conversations, the latest first, with local times. Exit code 1 when there is none."""
    rows = list_sessions(call.session)
    for row in rows:
        if as_json:
            print_json(Conversation(row))
        else:
            when = local_time(from_ns(row.updated_at * 1_000_000_000))
            name = plain_line(row.session_id)
            echo_folded(plain_line(row.title or ""), head=f"{name:<16}  {when}  {row.turns:>3} turns  ")
    if not rows and not as_json:
        click.echo("no conversation was begun yet: kb ask --session NAME …", err=True)
    return 0 if rows else 1


@command.command("show", epilog="\b\nExamples:\n  kb sessions show 점검\n")
@click.argument("name")
@json_option("Print chat_session.v1.")
@pass_call
def show(call: Call, name: str, as_json: bool) -> None:
    """Show a conversation from its first question."""
    found = show_session(call.session, name)
    if as_json:
        print_json(found)
        return
    for turn in found.turns:
        echo_folded(plain_line(turn.question), head="> ")
        echo_text(turn.answer)
        click.echo()


@command.command("delete", epilog="\b\nExamples:\n  kb sessions delete 점검 --yes\n")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@pass_call
def delete(call: Call, name: str, yes: bool) -> int:
    """Delete a conversation. Its answers stay in kb answers."""
    turns = len(show_session(call.session, name).turns)
    what = f"{plain_line(name)} with its {turns} turn{'' if turns == 1 else 's'}"
    if not yes and not click.confirm(f"forget {what}?", default=False):
        click.echo("nothing was deleted")
        return 1
    delete_session(call.session, name)
    click.echo(f"forgot {what}")
    return 0
