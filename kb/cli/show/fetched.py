"""Fetched text as a person reads it: each place with its headings, its lines with their numbers."""

from __future__ import annotations

import click

from kb.cli.output.printing import HEADING, PLACE, QUIET, echo_folded, styled
from kb.cli.output.terminal import plain, plain_line
from kb.domain.citations import cited_lines
from kb.domain.results.fetched import Fetched, FetchedPlace


def show_fetched(fetched: Fetched) -> None:
    """Prints the places, then what could not be fetched, on stderr, and how to go on."""
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
    """The lines, not folded: what is copied from here is what the file has. Those of the citation are marked."""
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
