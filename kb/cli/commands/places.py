"""`kb fetch`, `kb open` and `kb related`: the text at a place, the place in an editor, what is around a document."""

from __future__ import annotations

import os
import shlex

import click

from kb.cli.call import Call, WholeNumber, json_option, pass_call
from kb.cli.output.printing import HEADING, PLACE, QUIET, echo_folded, echo_result, print_json, styled
from kb.domain.citations import cited_lines
from kb.domain.results.fetched import Fetched, FetchedPlace, FetchRequest, FetchTarget
from kb.domain.results.inspection import LinkRow
from kb.domain.text import plain, plain_line
from kb.errors import UsageError
from kb.operations.answers.last_shown import ShownPlace, last_shown
from kb.operations.answers.open_citation import as_the_shell_would, find_opening, run_opening
from kb.operations.fetch.fetch import LEAST_TOKENS, MOST_CONTEXT_LINES, fetch
from kb.operations.inspect.links import related_documents


@click.command(
    "fetch",
    epilog="""\b
Examples:
  kb fetch "notes/kb.md#L12-L34"                   # these lines
  kb fetch "notes/kb.md#L12" --context 5           # with five lines before and behind
  kb fetch notes/kb.md "paper.pdf#page=3"          # a whole file and a page
  kb fetch "src/parser.py#symbol=Parser.parse"     # a definition in code
  kb fetch 1 2                                     # the first two of what kb search or kb ask showed last
  kb fetch big.md --max-tokens 2000                # its beginning; the last line says how to go on
  kb fetch 3f9c02ab --json | jq -r .places[0].text   # a passage by its id
""",
)
@click.argument("places", nargs=-1)
@click.option(
    "--context",
    "context_lines",
    type=WholeNumber(0, MOST_CONTEXT_LINES),
    default=0,
    metavar="LINES",
    help="Print this many lines before and after each place.",
)
@click.option("--max-tokens", type=WholeNumber(LEAST_TOKENS), help="At most this many tokens of text in total.")
@click.option("--cursor", help="Continue where an earlier fetch with --max-tokens ended.")
@json_option("Print fetch.v1.")
@pass_call
def fetch_command(
    call: Call, places: tuple[str, ...], context_lines: int, max_tokens: int | None, cursor: str | None, as_json: bool
) -> int:
    """Print the text at PLACES as it was indexed, with line numbers.

    A place is a citation, a path, the id of a passage or document, or a number in the list shown last. Exit code 1 when
    a place cannot be fetched; the others are printed.
    """
    if not places and cursor is None:
        raise UsageError("no place to fetch", 'example: kb fetch "notes/kb.md#L12-L34"')
    numbered = [_numbered(call, place) for place in places]
    named = {each and each.vault for each in numbered}
    if len(named) > 1:
        raise UsageError("these places are of several vaults", "fetch those of one, then those of the next")
    typed = zip(numbered, places, strict=True)
    targets = tuple(FetchTarget(each.citation.to_uri() if each else place) for each, place in typed)
    vault = next(iter(named), None)
    session = (call if vault is None else call.of_vault(vault)).session
    fetched = fetch(session, FetchRequest(targets, context_lines, max_tokens, cursor))
    echo_result(fetched, as_json, _show_fetched)
    return 1 if fetched.failures else 0


def _numbered(call: Call, typed: str) -> ShownPlace | None:
    """The place with that number in the list shown last; None for other text."""
    shown = last_shown(call.config.last_shown) if typed.isdecimal() and len(typed) <= 4 else None
    return None if shown is None else shown.numbered(int(typed))


def _show_fetched(fetched: Fetched) -> None:
    """Prints each place with its headings and numbered lines; on stderr the failures and how to continue."""
    for number, place in enumerate(fetched.places):
        if number:
            click.echo()
        _show_place(place)
    for failure in fetched.failures:
        echo_folded(plain_line(failure.error.message), head="not fetched: ", err=True)
        if failure.error.hint:
            echo_folded(plain_line(failure.error.hint), head="  hint: ", err=True)
    if fetched.next_cursor is not None:
        echo_folded(f"{fetched.tokens} tokens ({fetched.token_counter}); there is more:", style=QUIET, err=True)
        click.echo(f"kb fetch --cursor {fetched.next_cursor}", err=True)


def _show_place(place: FetchedPlace) -> None:
    echo_folded(plain_line(place.citation.to_uri()), style=PLACE)
    echo_folded(plain_line(" › ".join(place.heading_path) or place.title), style=HEADING)
    if not place.is_current:
        echo_folded("the file has changed since it was indexed; this is what was indexed (kb ingest)", err=True)
    _show_text(place)
    for word, neighbour in (("before", place.before), ("behind", place.after)):
        if neighbour is not None:
            heading = " › ".join(neighbour.heading_path)
            echo_folded(plain_line(f"{neighbour.uri}  {heading}".rstrip()), head=f"{word}  ", style=QUIET)


def _show_text(place: FetchedPlace) -> None:
    """Prints the lines without folding, so that they can be copied exactly; cited lines are marked."""
    lines = plain(place.text).split("\n")
    if place.first_line is None:
        click.echo("\n".join(lines))
        return
    cited = cited_lines(place.citation)
    width = len(str(place.first_line + len(lines) - 1))
    has_context = cited is not None and (place.first_line, len(lines)) != (cited.start, cited.end - cited.start + 1)
    for number, line in enumerate(lines, place.first_line):
        is_cited = cited is not None and cited.start <= number <= cited.end
        mark = ("▸" if is_cited else " ") if has_context and not place.is_cut else ""
        click.echo(f"{mark}{styled(f'{number:>{width}}│', QUIET)} {line}".rstrip())


@click.command(
    "open",
    epilog="""\b
Examples:
  kb open 1                                  # the first of what kb search or kb ask showed last
  kb open 2 --answer ret_4a8b                # the second citation of an earlier answer
  kb open "notes/kb.md#L12-L34"              # a citation as it is written
  kb open notes/kb.md                        # a file
  kb open 1 --print                          # what would be run
""",
)
@click.argument("place")
@click.option("--answer", "answer_id", metavar="ID", help="Take the number from the citations of this answer.")
@click.option("--print", "print_only", is_flag=True, help="Print the command instead of running it.")
@pass_call
def open_command(call: Call, place: str, answer_id: str | None, print_only: bool) -> int:
    """Show a passage in its file: PLACE is a number, a citation or a file.

    A number refers to the last output of kb search, kb ask or kb answers show, in any format.

    Opens $VISUAL, $EDITOR or $PAGER at the line; pages and recordings in a viewer that can jump there.
    """
    listed = _numbered(call, place) if answer_id is None else None
    if listed is None or listed.vault is None:
        opening = find_opening(call.session, place, answer_id, os.environ)
    else:
        opening = find_opening(call.of_vault(listed.vault).session, place, None, os.environ, listed)
    if print_only:
        click.echo(plain_line(shlex.join(opening.command)))
        return 0
    if not opening.is_at_place and opening.citation is not None:
        program, shown = plain_line(opening.command[0]), plain_line(opening.citation.to_uri())
        click.echo(f"{program} shows the file as a whole: {shown}", err=True)
    run = as_the_shell_would if call.warm is None else call.warm.run_program
    return 0 if run_opening(opening, run) == 0 else 2


@click.command(
    "related",
    epilog="""\b
Examples:
  kb related notes/kb.md
  kb related notes/kb.md --json | jq -r '.backlinks[].doc_path'
""",
)
@click.argument("path")
@json_option("Print near_documents.v1.")
@pass_call
def related_command(call: Call, path: str, as_json: bool) -> int:
    """Show what PATH links to, what links to it, and the documents nearest by meaning. Exit code 1 without any."""
    found = related_documents(call.session, path)
    out, into = found.links or [], found.backlinks or []
    if as_json:
        print_json(found)
        return 0 if out or into or found.near else 1
    for heading, links in (("Links", out), ("Linked from", into)):
        if links:
            click.echo(styled(heading, HEADING))
        for each in links:
            echo_folded(plain_line(_link_line(each, is_out=links is out)), head="  ")
    if found.near:
        click.echo(styled("Near by meaning", HEADING))
    for near in found.near:
        echo_folded(plain_line(f"{near.workspace_path}  {near.title}"), head=f"  {near.cosine():.2f}  ")
    if not (out or into or found.near):
        echo_folded("it has no links, nothing links to it, and nothing is near it", err=True)
        return 1
    return 0


def _link_line(link: LinkRow, *, is_out: bool) -> str:
    if not is_out:
        return f"{link.workspace_path}#L{link.line}  {link.title}"
    written = f"{link.target}#{link.anchor}" if link.anchor else link.target
    reached = f"{link.target_path}  {link.target_title}" if link.target_path else f"{written}  (reaches no document)"
    return f"L{link.line}  {reached}"
