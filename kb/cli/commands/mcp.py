"""`kb mcp`: the knowledge base for agents, by the Model Context Protocol."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from kb.cli.call import Call, CommandGroup, pass_call
from kb.cli.options import WholeNumber
from kb.cli.output.printing import echo_folded
from kb.cli.output.terminal import plain_line
from kb.errors import UsageError
from kb.mcp.clients import CLIENTS, Client

_EPILOG = """\b
Examples:
  kb mcp install claude-code                 # tells an agent of kb, once; it then starts kb mcp by itself
  kb mcp --print-config cursor               # what to paste into its configuration by hand
  kb mcp                                     # serve on standard input and output
  kb mcp --http                              # serve at an address of this machine, with a token, until Ctrl-C
"""


@click.group("mcp", cls=CommandGroup, invoke_without_command=True, epilog=_EPILOG)
@click.option("--http", "over_http", is_flag=True, help="Serve over HTTP, to this machine alone.")
@click.option("--port", type=WholeNumber(1024, 65535), help="With --http: listen here [default: 7412, or any free].")
@click.option("--allow-write", is_flag=True, help="Also offer add_note and ingest.")
@click.option("--print-config", "client", type=click.Choice(CLIENTS), help="Print what this agent is told of kb.")
@click.pass_context
@pass_call
def command(
    call: Call, ctx: click.Context, over_http: bool, port: int | None, allow_write: bool, client: Client | None
) -> int:
    """Serve the knowledge base to agents (Model Context Protocol), until standard input ends.

    Tools: search, fetch, ask, list, status; all of them only read. With --allow-write also add_note and ingest.
    """
    if ctx.invoked_subcommand is not None:
        if over_http or allow_write or port is not None or client is not None:
            raise UsageError("kb mcp install takes its own options", "kb mcp install --help")
        return 0
    if client is not None:
        from kb.mcp.clients import client_file, launch, snippet

        click.echo(snippet(client, launch(call.config.file, allow_write=allow_write)), nl=False)
        echo_folded(f"goes into {client_file(client)}; kb mcp install {client} writes it", err=True)
        return 0
    require_library()
    if not over_http:
        if port is not None:
            raise UsageError("--port goes with --http", "kb mcp --http --port 7500")
        from kb.mcp.server import serve_stdio

        serve_stdio(call.config, allow_write=allow_write)
        return 0
    from kb.mcp.http import TOKEN_VARIABLE, serve_http

    def tell(address: str, token_file: Path | None) -> None:
        click.echo(address)
        where = f"the token is that of {TOKEN_VARIABLE}" if token_file is None else f"the token is in {token_file}"
        echo_folded(plain_line(f"{where}; it goes into the header: Authorization: Bearer TOKEN"), err=True)
        click.echo("Ctrl-C ends it", err=True)

    serve_http(call.config, port, tell, allow_write=allow_write)
    return 0


@command.command(
    "install",
    epilog="""\b
Examples:
  kb mcp install claude-code
  kb mcp install vscode --yes
""",
)
@click.argument("client", type=click.Choice(CLIENTS))
@click.option("--allow-write", is_flag=True, help="With add_note and ingest.")
@click.option("--yes", is_flag=True, help="Write it without asking.")
@pass_call
def install(call: Call, client: Client, allow_write: bool, yes: bool) -> int:
    """Tell an agent of kb: show what changes in its configuration, ask, and write it.

    Exit code 1 where it was not wanted.
    """
    from kb.mcp.clients import apply_change, change_for, launch

    require_library()
    change = change_for(client, launch(call.config.file, allow_write=allow_write))
    if not change.diff:
        echo_folded(f"{change.path} has it already")
        return 0
    for line in change.diff.splitlines():
        click.echo(plain_line(line))
    if not yes:
        click.echo(f"Write {change.path}? [y/N] ", nl=False)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            return 1
    apply_change(change)
    echo_folded(f"written; start {client} again, and it has kb")
    return 0


def require_library() -> None:
    """Raises UsageError where the extra `mcp` is not installed."""
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        from kb.installation import extra_command

        raise UsageError("the library mcp is not installed", extra_command("mcp"))
