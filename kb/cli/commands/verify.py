"""`kb verify`: stored answers against the files as they are now."""

from __future__ import annotations

import click

from kb.answer.standing import changed_words
from kb.cli.call import Call, json_option, pass_call, print_json
from kb.cli.output.printing import BAD, GOOD, HEADING, echo_folded, styled
from kb.cli.output.terminal import plain_line
from kb.cli.show.answer import judges_line
from kb.domain.results.answers import AnswerCheck
from kb.errors import UsageError
from kb.operations.answers.verify import verify

# What became of a quotation, as the wire names it → its sign and word on the screen.
_OUTCOMES = {
    "stands": ("✓", "unchanged"),
    "moved": ("→", "moved"),
    "changed": ("✗", "changed"),
    "missing": ("✗", "missing"),
    "unreadable": ("?", "unreadable"),
}

_PAIRS_SHOWN = 5

_EPILOG = """\b
Examples:
  kb verify                 # the last answer
  kb verify ret_4a8b        # an earlier one
  kb verify --all --json | jq -r 'select(.holds | not) | .trace_id'
"""


@click.command("verify", epilog=_EPILOG)
@click.argument("id", required=False)
@click.option("--all", "every", is_flag=True, help="Every answer that was kept.")
@json_option("Print one answer_check.v1 per line.")
@pass_call
def command(call: Call, id: str | None, every: bool, as_json: bool) -> int:
    """Check which quotations of an answer are still in their files, which moved, and which changed to what.

    Reads the files themselves, not the index. Exit code 1 when a quotation is no longer anywhere.
    """
    if id is not None and every:
        raise UsageError("an id and --all at once", "give one of them")
    checks = verify(call.session, id, every=every)
    if as_json:
        for check in checks:
            print_json(check)
    else:
        for check in checks:
            _show(check)
        quotes = [quote for check in checks for quote in check.quotes]
        if not quotes:
            what = "no answer quotes anything yet" if every else "this answer quotes nothing"
            click.echo(f"nothing to check: {what}")
            return 0
        found = sum(quote.standing in ("stands", "moved") for quote in quotes)
        answers = f"{len(checks)} answer{'' if len(checks) == 1 else 's'}"
        click.echo(f"{found} of {len(quotes)} quotations are still in their files, in {answers}")
    return 0 if all(check.holds for check in checks) else 1


def _show(check: AnswerCheck) -> None:
    echo_folded(plain_line(check.question), head=f"{check.trace_id}  ")
    for quote in check.quotes:
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
