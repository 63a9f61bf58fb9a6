"""`kb answers`, `kb sessions`, `kb verify` and `kb audit`: earlier answers, and the text that agents were given."""

from __future__ import annotations

import json

import click

from kb.answer.wording import outcome_words
from kb.cli.call import Call, CommandGroup, WholeNumber, json_option, pass_call
from kb.cli.output.answer import judges_line, show_answer
from kb.cli.output.printing import BAD, GOOD, HEADING, echo_folded, echo_rows, echo_text, local_time, print_json, styled
from kb.cli.output.terminal import plain_start
from kb.domain.results.answers import AnswerCheck, AnswerSummary, Conversation, Disclosure, QuoteCheck
from kb.domain.text import counted, plain_line
from kb.errors import UsageError
from kb.operations.answers.audit import disclosures
from kb.operations.answers.last_shown import shown_answer
from kb.operations.answers.records import delete_session, find_answer, list_answers, list_sessions, show_session
from kb.operations.answers.verify import changed_words, verify
from kb.operations.opening.clock import from_ns

# The state of a quotation, as the wire names it → its sign and word on the screen.
_OUTCOMES = {
    "stands": ("✓", "unchanged"),
    "moved": ("→", "moved"),
    "changed": ("✗", "changed"),
    "missing": ("✗", "missing"),
    "unreadable": ("?", "unreadable"),
}

_PAIRS_SHOWN = 5
_PLACES_SHOWN = 3


@click.group("answers", cls=CommandGroup)
def answers_command() -> None:
    """Show earlier answers."""


@answers_command.command(
    "list", epilog="\b\nExamples:\n  kb answers list --limit 5\n  kb answers list --json | jq -r .query\n"
)
@click.option("-n", "--limit", type=WholeNumber(1), default=20, show_default=True, help="At most this many.")
@json_option("Print one answer_summary.v1 per line.")
@pass_call
def answers_list_command(call: Call, limit: int, as_json: bool) -> int:
    """List the answers, the newest first, with local times. Exit code 1 when there is none."""
    rows = list_answers(call.session, limit)
    return echo_rows(rows, as_json, _show_summary, 'no answer was given yet: kb ask "…"')


def _show_summary(row: AnswerSummary) -> None:
    quoted = row.model_provider == "extractive"
    sure, grounded = row.state == "answered", bool(row.grounded)
    outcome = outcome_words("en", row.refusal_reason, is_quoted=quoted, grounded=grounded, is_sure=sure)
    echo_folded(plain_start(row.query), head=f"{row.trace_id}  {local_time(row.created_at)}  {outcome:<12}  ")


@answers_command.command(
    "show", epilog="\b\nExamples:\n  kb answers show            # the last one\n  kb answers show ret_4a8b --explain\n"
)
@click.argument("id", required=False)
@click.option("--explain", is_flag=True, help="Show the source of each sentence.")
@json_option("Print answer.v1.")
@pass_call
def answers_show_command(call: Call, id: str | None, explain: bool, as_json: bool) -> None:
    """Show an answer again: by its id or the start of one, else the last."""
    answer = find_answer(call.session, id)
    call.remember(shown_answer(answer))
    if as_json:
        print_json(answer)
        return
    head = f"{answer.retrieval.trace_id}  {local_time(answer.created_at)}  "
    echo_folded(plain_line(answer.question), head=head)
    click.echo()
    show_answer(answer, explain=explain)


@click.group("sessions", cls=CommandGroup)
def sessions_command() -> None:
    """Show and delete conversations, begun with kb ask --session NAME."""


@sessions_command.command(
    "list", epilog="\b\nExamples:\n  kb sessions list\n  kb sessions list --json | jq -r .session_id\n"
)
@json_option("Print one chat_session.v1 per line, without its turns.")
@pass_call
def sessions_list_command(call: Call, as_json: bool) -> int:
    """List the conversations, the latest first, with local times. Exit code 1 when there is none."""

    def show(row: Conversation) -> None:
        when = local_time(from_ns(row.updated_at * 1_000_000_000))
        head = f"{plain_line(row.session_id):<16}  {when}  {row.turn_count:>3} turns  "
        echo_folded(plain_line(row.title or ""), head=head)

    return echo_rows(
        list_sessions(call.session), as_json, show, "no conversation was begun yet: kb ask --session NAME …"
    )


@sessions_command.command("show", epilog="\b\nExamples:\n  kb sessions show 점검\n")
@click.argument("name")
@json_option("Print chat_session.v1.")
@pass_call
def sessions_show_command(call: Call, name: str, as_json: bool) -> None:
    """Show a conversation from its first question."""
    found = show_session(call.session, name)
    if as_json:
        print_json(found)
        return
    for turn in found.turns:
        echo_folded(plain_line(turn.question), head="> ")
        echo_text(turn.answer)
        click.echo()


@sessions_command.command("delete", epilog="\b\nExamples:\n  kb sessions delete 점검 --yes\n")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@pass_call
def sessions_delete_command(call: Call, name: str, yes: bool) -> int:
    """Delete a conversation. Its answers stay in kb answers."""
    what = f"{plain_line(name)} with its {counted(len(show_session(call.session, name).turns), 'turn')}"
    if not yes and not click.confirm(f"forget {what}?", default=False):
        click.echo("nothing was deleted")
        return 1
    delete_session(call.session, name)
    click.echo(f"forgot {what}")
    return 0


@click.command(
    "verify",
    epilog="""\b
Examples:
  kb verify                 # the last answer
  kb verify ret_4a8b        # an earlier one
  kb verify --all --json | jq -r 'select(.holds | not) | .trace_id'
""",
)
@click.argument("id", required=False)
@click.option("--all", "every", is_flag=True, help="Check all stored answers.")
@json_option("Print one answer_check.v1 per line.")
@pass_call
def verify_command(call: Call, id: str | None, every: bool, as_json: bool) -> int:
    """Check which quotations of an answer are unchanged in their files, which moved, and which changed.

    Reads the files themselves, not the index. Exit code 1 when a quotation is no longer in any file.
    """
    if id is not None and every:
        raise UsageError("an id and --all at once", "give one of them")
    checks = verify(call.session, id, every=every)
    echo_rows(checks, as_json, _show_check)
    quotes = [quote for check in checks for quote in check.quotes]
    if not as_json and not quotes:
        click.echo(f"nothing to check: {'no answer quotes anything yet' if every else 'this answer quotes nothing'}")
    elif not as_json:
        found = sum(quote.standing in ("stands", "moved") for quote in quotes)
        answers = counted(len(checks), "answer")
        click.echo(f"{found} of {len(quotes)} quotations are still in their files, in {answers}")
    return 0 if all(check.holds for check in checks) else 1


def _show_check(check: AnswerCheck) -> None:
    echo_folded(plain_line(check.question), head=f"{check.trace_id}  ")
    for quote in check.quotes:
        _show_quote(quote)


def _show_quote(quote: QuoteCheck) -> None:
    sign, word = _OUTCOMES[quote.standing]
    shown = styled(sign, GOOD if quote.standing in ("stands", "moved") else BAD)
    now = "" if quote.standing != "moved" or quote.now_at is None else f" → {plain_line(quote.now_at.to_uri())}"
    echo_folded(f"{plain_line(quote.cited.to_uri())}{now}", head=f"  {shown} {word:<10} ")
    if quote.commit and quote.now_commit:
        echo_folded(f"cited at commit {quote.commit[:12]}, now at {quote.now_commit[:12]}", head="      ")
    if quote.second is not None:
        echo_folded(judges_line(quote.second), head="      ")
    echo_folded(f"「{plain_line(quote.quote)}」", head="      ")
    if quote.now_text is not None:
        echo_folded(f"「{plain_line(quote.now_text)}」", head="  now ")
        pairs = changed_words(quote.quote, quote.now_text)
        said = ", ".join(f"{old or '(nothing)'} → {new or '(nothing)'}" for old, new in pairs[:_PAIRS_SHOWN])
        echo_folded(plain_line(said), head="      ", style=HEADING)


@click.group("audit", cls=CommandGroup)
def audit_command() -> None:
    """Show which texts agents received through kb mcp."""


@audit_command.command(
    "list",
    epilog="""\b
Examples:
  kb audit list --client claude-code
  kb audit list --limit 1000 --json | jq -r '.places[]' | sort | uniq -c | sort -rn
""",
)
@click.option("--client", metavar="NAME", help="Only calls of this agent, by the name it gives itself.")
@click.option("--tool", metavar="NAME", help="Only calls of this tool.")
@click.option("-n", "--limit", type=WholeNumber(1, 200_000), default=50, help="At most this many [default: 50].")
@json_option("Print one disclosure.v1 per line.")
@pass_call
def audit_list_command(call: Call, client: str | None, tool: str | None, limit: int, as_json: bool) -> int:
    """List the calls of agents and the places that each received, the newest first. Exit code 1 when there is none."""
    rows = disclosures(call.config, client=client, tool=tool, limit=limit)
    return echo_rows(rows, as_json, _show_disclosure, "no agent was given anything yet")


def _show_disclosure(row: Disclosure) -> None:
    places = json.loads(row.places_json)
    more = f" and {len(places) - _PLACES_SHOWN} more" if len(places) > _PLACES_SHOWN else ""
    given = ", ".join(places[:_PLACES_SHOWN]) + more if row.outcome == "given" else row.outcome
    head = f"{row.disclosed_at[:19]}  {row.client}  {row.tool}  {row.tokens} tokens"
    echo_folded(plain_line(f"{head}  {row.asked!r}  {given}".rstrip()))
