"""`kb open`: a hit, a citation or a file, in the editor or viewer."""

from __future__ import annotations

import os

import click

from kb.cli.call import Call, pass_call
from kb.cli.output.terminal import plain_line
from kb.operations.answers.open_citation import find_opening, run_opening

_EPILOG = """\b
Examples:
  kb open 1                                  # the first of what kb search or kb ask showed last
  kb open 2 --answer ret_4a8b                # the second citation of an earlier answer
  kb open "notes/kb.md#L12-L34"              # a citation as it is written
  kb open notes/kb.md                        # a file
  kb open 1 --print                          # what would be run
"""


@click.command("open", epilog=_EPILOG)
@click.argument("place")
@click.option("--answer", "answer_id", metavar="ID", help="Count in the citations of this answer.")
@click.option("--print", "print_only", is_flag=True, help="Print the command instead of running it.")
@pass_call
def command(call: Call, place: str, answer_id: str | None, print_only: bool) -> int:
    """Show a passage in its file: PLACE is a number, a citation or a file.

    A number counts in what kb search, kb ask or kb answers show printed last, in whatever form.

    Opens $VISUAL, $EDITOR or $PAGER at the line; pages and recordings in a viewer that can jump there.
    """
    opening = find_opening(call.session, place, answer_id, os.environ)
    if print_only:
        import shlex

        click.echo(plain_line(shlex.join(opening.command)))
        return 0
    if not opening.is_at_place and opening.citation is not None:
        program = plain_line(opening.command[0])
        click.echo(f"{program} shows the file as a whole: {plain_line(opening.citation.to_uri())}", err=True)
    return 0 if run_opening(opening) == 0 else 2
