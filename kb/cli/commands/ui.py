"""`kb ui`: search, ask and read in the terminal."""

from __future__ import annotations

import os
import sys

import click

from kb.cli.call import Call, pass_call
from kb.errors import UsageError
from kb.models.requirements import lacking_packages, require
from kb.operations.session.session import open_session
from kb.private import is_read_only

_EPILOG = """\b
Examples:
  kb ui                       # type, choose by the arrows, Enter opens; F1 shows all keys
  kb ui 게이트웨이 재시도         # begins with a question
  kb ui --plain               # numbered lists, for screen readers and slow lines
"""


@click.command("ui", epilog=_EPILOG)
@click.argument("question", nargs=-1)
@click.option("--plain", is_flag=True, help="Numbered lists and keys by letter, nothing drawn.")
@pass_call
def command(call: Call, question: tuple[str, ...], plain: bool) -> int:
    """Search as you type, ask, and read what is found, in the terminal.

    The document stands beside the hits, at the place that is cited. What is asked is kept, as by kb ask.
    """
    asked = " ".join(question)
    with open_session(call.config, many=True) as session:
        with session.reading():
            pass  # what is wrong with the knowledge base is told before the screen is taken
        if plain:
            from kb.tui.plain import converse

            return converse(session, asked, sys.stdin, sys.stdout, may_write=not is_read_only())
        require("kb ui", lacking_packages(("textual",), "ui"))
        if os.environ.get("TERM") in ("dumb", "unknown", ""):
            raise UsageError("this terminal cannot be drawn on (TERM)", "kb ui --plain speaks in lines")
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise UsageError("kb ui needs a terminal", "kb ui --plain reads lines, kb search prints hits")
        from kb.tui.app import SearchApp

        app = SearchApp(session, asked, may_write=not is_read_only())
        app.run(mouse=True)
        return app.return_code or 0
