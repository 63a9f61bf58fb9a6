"""`kb fetch`: the text at citations, word for word."""

from __future__ import annotations

import click

from kb.cli.call import Call, json_option, pass_call, print_json
from kb.cli.options import WholeNumber
from kb.domain.results.fetched import FetchRequest, FetchTarget
from kb.errors import UsageError
from kb.operations.answers.last_shown import last_shown
from kb.operations.fetch.fetch import LEAST_TOKENS, MOST_CONTEXT_LINES, fetch

_EPILOG = """\b
Examples:
  kb fetch "notes/kb.md#L12-L34"                   # these lines
  kb fetch "notes/kb.md#L12" --context 5           # with five lines before and behind
  kb fetch notes/kb.md "paper.pdf#page=3"          # a whole file and a page
  kb fetch "src/parser.py#symbol=Parser.parse"     # a definition in code
  kb fetch 1 2                                     # the first two of what kb search or kb ask showed last
  kb fetch big.md --max-tokens 2000                # its beginning; the last line says how to go on
  kb fetch 3f9c02ab --json | jq -r .places[0].text   # a passage by its id
"""


@click.command("fetch", epilog=_EPILOG)
@click.argument("places", nargs=-1)
@click.option(
    "--context",
    "context_lines",
    type=WholeNumber(0, MOST_CONTEXT_LINES),
    default=0,
    metavar="LINES",
    help="So many lines before and behind each place.",
)
@click.option("--max-tokens", type=WholeNumber(LEAST_TOKENS), help="At most so many tokens of text together.")
@click.option("--cursor", help="Go on where an earlier fetch with --max-tokens ended.")
@json_option("Print fetch.v1.")
@pass_call
def command(
    call: Call,
    places: tuple[str, ...],
    context_lines: int,
    max_tokens: int | None,
    cursor: str | None,
    as_json: bool,
) -> int:
    """Print the text at PLACES as it was indexed, with line numbers.

    A place is a citation, a path, the id of a passage or document, or a number of what was shown last. Exit code 1 when
    a place cannot be fetched; the others are printed.
    """
    if not places and cursor is None:
        raise UsageError("no place to fetch", 'example: kb fetch "notes/kb.md#L12-L34"')
    targets = tuple(FetchTarget(_numbered(call, place)) for place in places)
    fetched = fetch(call.session, FetchRequest(targets, context_lines, max_tokens, cursor))
    if as_json:
        print_json(fetched)
    else:
        from kb.cli.show.fetched import show_fetched

        show_fetched(fetched)
    return 1 if fetched.failures else 0


def _numbered(call: Call, typed: str) -> str:
    """The place a number stands for in the list shown last; anything else is a place already."""
    shown = last_shown(call.config.data_dir) if typed.isdecimal() and len(typed) <= 4 else None
    if shown is None:
        return typed
    found = next((place for place in shown.places if place.number == int(typed)), None)
    if found is None:
        held = ", ".join(str(place.number) for place in shown.places) or "no place"
        raise UsageError(f"no number {typed} in what kb {shown.command} {shown.question!r} showed", f"it showed {held}")
    return found.citation.to_uri()
