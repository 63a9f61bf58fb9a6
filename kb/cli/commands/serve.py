"""`kb ui`, `kb web` and `kb mcp`: servers and screens for people and agents; each needs a library that may be absent.

`ROOMS` names the module that runs each; it is imported once its library is known to be there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from kb.cli.call import Call, CommandGroup, WholeNumber, pass_call
from kb.cli.output.printing import confirmed, echo_folded
from kb.domain.text import plain_line
from kb.errors import UsageError
from kb.installation import extra_command
from kb.mcp.clients import CLIENTS, Client, Launch, apply_change, change_for, client_file, launch, snippet
from kb.models.requirements import lacking_packages, require
from kb.operations.opening.base import Base, open_base
from kb.private import is_read_only

ROOMS = {
    "kb ui": "kb.tui.app",
    "kb ui --plain": "kb.tui.plain",
    "kb web": "kb.web.serve",
    "kb mcp": "kb.mcp.server",
    "kb mcp --http": "kb.mcp.http",
}


def _room(command: str) -> Any:
    return import_module(ROOMS[command])


@contextmanager
def _readable_session(call: Call, **audience: Any) -> Iterator[Base]:
    """A session of a knowledge base that can be read. Raises: StoreError, before anything is shown."""
    with open_base(call.config, many=True, **audience) as session:
        with session.reading():
            pass
        yield session


@click.command(
    "ui",
    epilog="""\b
Examples:
  kb ui                       # type, choose by the arrows, Enter opens; F1 shows all keys
  kb ui 게이트웨이 재시도         # begins with a question
  kb ui --plain               # numbered lists, for screen readers and slow lines
""",
)
@click.argument("question", nargs=-1)
@click.option("--plain", is_flag=True, help="Numbered lists and letter keys, for screen readers and slow lines.")
@pass_call
def ui_command(call: Call, question: tuple[str, ...], plain: bool) -> int:
    """Search as you type, ask, and read what is found, in the terminal.

    The document is shown beside the hits, at the cited place. Answers are stored, as with kb ask.
    """
    asked = " ".join(question)
    with _readable_session(call) as session:
        if plain:
            room = _room("kb ui --plain")
            return int(room.converse(session, asked, sys.stdin, sys.stdout, may_write=not is_read_only()))
        require("kb ui", lacking_packages(("textual",), "ui"))
        if os.environ.get("TERM") in ("dumb", "unknown", ""):
            raise UsageError("this terminal cannot be drawn on (TERM)", "kb ui --plain speaks in lines")
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise UsageError("kb ui needs a terminal", "kb ui --plain reads lines, kb search prints hits")
        return int(_room("kb ui").run(session, asked, may_write=not is_read_only()))


@click.command(
    "web",
    epilog="""\b
Examples:
  kb web                          # opens the page in your browser
  kb web 게이트웨이 재시도            # opens it with a question
  kb web --no-open --port 7500    # prints the address alone
""",
)
@click.argument("question", nargs=-1)
@click.option("--port", type=WholeNumber(1024, 65535), help="Listen here [default: 7411, or any that is free].")
@click.option("--open/--no-open", "opens", default=True, help="Show the page in your browser.")
@click.option("--allow-write", is_flag=True, help="Store the answers to questions asked on the page.")
@pass_call
def web_command(call: Call, question: tuple[str, ...], port: int | None, opens: bool, allow_write: bool) -> None:
    """Search, ask and read on a page in your browser, until Ctrl-C.

    The server listens on this machine only (127.0.0.1). Its address contains a key that lets one browser in; requests
    without it are refused. The page loads nothing from other hosts and runs no code from documents.
    """
    require("kb web", lacking_packages(("starlette", "uvicorn", "nh3"), "web"))
    room = _room("kb web")

    def tell(address: str) -> None:
        click.echo(f"kb's page: {plain_line(address)}")
        click.echo("Ctrl-C ends it", err=True)

    def tell_next(address: str) -> None:
        click.echo(f"a browser was let in; for another one: {plain_line(address)}", err=True)

    may_write = not is_read_only()
    with _readable_session(call, audience="page") as session:
        may = {"may_write": allow_write and may_write, "opens": opens and may_write}
        room.serve(session, port, **may, question=" ".join(question), tell=tell, tell_next=tell_next)


@click.group(
    "mcp",
    cls=CommandGroup,
    invoke_without_command=True,
    epilog="""\b
Examples:
  kb mcp install claude-code                 # adds kb to an agent, once; the agent then starts kb mcp
  kb mcp --print-config cursor               # what to paste into its configuration by hand
  kb mcp                                     # serve on standard input and output
  kb mcp --http                              # serve at an address of this machine, with a token, until Ctrl-C
""",
)
@click.option("--http", "over_http", is_flag=True, help="Serve over HTTP, to this machine alone.")
@click.option("--port", type=WholeNumber(1024, 65535), help="With --http: listen here [default: 7412, or any free].")
@click.option("--allow-write", is_flag=True, help="Also offer add_note and ingest.")
@click.option("--print-config", "client", type=click.Choice(CLIENTS), help="Print the configuration for this agent.")
@click.pass_context
@pass_call
def mcp_command(
    call: Call, ctx: click.Context, over_http: bool, port: int | None, allow_write: bool, client: Client | None
) -> None:
    """Serve the knowledge base to agents (Model Context Protocol), until standard input ends.

    Tools: search, fetch, ask, list, status; all of them only read. With --allow-write also add_note and ingest.
    A project is served only where it is named: kb --config .kb/config.toml mcp.
    """
    call.in_project = False  # an agent is started in whatever folder: it gets what its own configuration names
    if ctx.invoked_subcommand is not None:
        if over_http or allow_write or port is not None or client is not None:
            raise UsageError("kb mcp install takes its own options", "kb mcp install --help")
        return
    if client is not None:
        click.echo(snippet(client, _launch(call, allow_write)), nl=False)
        echo_folded(f"goes into {client_file(client)}; kb mcp install {client} writes it", err=True)
        return
    _require_mcp()
    if not over_http:
        if port is not None:
            raise UsageError("--port goes with --http", "kb mcp --http --port 7500")
        if sys.stdin.isatty():
            echo_folded("an agent starts this and speaks first: kb mcp install --help; Ctrl-D ends it", err=True)
        _room("kb mcp").serve_stdio(call.config, allow_write=allow_write)
        return
    room = _room("kb mcp --http")

    def tell(address: str, token_file: Path | None) -> None:
        click.echo(address)
        where = f"that of {room.TOKEN_VARIABLE}" if token_file is None else f"in {token_file}"
        echo_folded(plain_line(f"the token is {where}; it goes into the header: Authorization: Bearer TOKEN"), err=True)
        click.echo("Ctrl-C ends it", err=True)

    room.serve_http(call.config, port, tell, allow_write=allow_write)


@mcp_command.command(
    "install",
    epilog="""\b
Examples:
  kb mcp install claude-code
  kb mcp install vscode --yes
""",
)
@click.argument("client", type=click.Choice(CLIENTS))
@click.option("--allow-write", is_flag=True, help="Also offer add_note and ingest.")
@click.option("--yes", is_flag=True, help="Write it without asking.")
@pass_call
def mcp_install_command(call: Call, client: Client, allow_write: bool, yes: bool) -> int:
    """Add kb to the configuration of an agent: show the change, ask, and write it.

    Exit code 1 when you decline.
    """
    _require_mcp()
    change = change_for(client, _launch(call, allow_write))
    if not change.diff:
        echo_folded(f"{change.path} has it already")
        return 0
    for line in change.diff.splitlines():
        click.echo(plain_line(line))
    if not yes and not confirmed(f"Write {change.path}?"):
        return 1
    apply_change(change)
    echo_folded(f"written; start {client} again, and it has kb")
    return 0


def _launch(call: Call, allow_write: bool) -> Launch:
    """The command that an agent starts, with the global options of this call."""
    options = ["--read-only"] if is_read_only() else []
    options += [part for each in call.settings for part in ("--set", each)]
    return launch(call.config.file, *options, allow_write=allow_write)


def _require_mcp() -> None:
    """Raises UsageError where the extra `mcp` is not installed."""
    if find_spec("mcp") is None:
        raise UsageError("the library mcp is not installed", extra_command("mcp"))
