"""`kb audit list`: what agents were given."""

from __future__ import annotations

import json

import click

from kb.cli.call import Call, CommandGroup, json_option, pass_call, print_json
from kb.cli.options import WholeNumber
from kb.cli.output.printing import echo_folded
from kb.cli.output.terminal import plain_line
from kb.operations.answers.audit import disclosures

_PLACES_SHOWN = 3


@click.group("audit", cls=CommandGroup)
def command() -> None:
    """Show what agents were given through kb mcp."""


@command.command(
    "list",
    epilog="""\b
Examples:
  kb audit list --client claude-code
  kb audit list --limit 1000 --json | jq -r '.places[]' | sort | uniq -c | sort -rn
""",
)
@click.option("--client", metavar="NAME", help="Only by this agent, as it names itself.")
@click.option("--tool", metavar="NAME", help="Only by this tool.")
@click.option("-n", "--limit", type=WholeNumber(1, 200_000), default=50, help="At most this many [default: 50].")
@json_option("Print one disclosure.v1 per line.")
@pass_call
def list_(call: Call, client: str | None, tool: str | None, limit: int, as_json: bool) -> int:
    """List calls with what was given, the last first. Exit code 1 when there is none."""
    rows = disclosures(call.config, client=client, tool=tool, limit=limit)
    if as_json:
        for row in rows:
            print_json(row)
        return 0 if rows else 1
    for row in rows:
        places = json.loads(row.places_json)
        more = f" and {len(places) - _PLACES_SHOWN} more" if len(places) > _PLACES_SHOWN else ""
        given = ", ".join(places[:_PLACES_SHOWN]) + more if row.outcome == "given" else row.outcome
        head = f"{row.disclosed_at[:19]}  {row.client}  {row.tool}  {row.tokens} tokens"
        echo_folded(plain_line(f"{head}  {row.asked!r}  {given}".rstrip()))
    if not rows:
        echo_folded("no agent was given anything yet", err=True)
    return 0 if rows else 1
