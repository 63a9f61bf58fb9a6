"""`kb mcp`: the knowledge base for agents, by the Model Context Protocol."""

from __future__ import annotations

from pathlib import Path

import click

from kb.cli.call import Call, pass_call
from kb.cli.output.printing import echo_folded
from kb.cli.output.terminal import plain_line
from kb.errors import UsageError

_EPILOG = """\b
Examples:
  kb mcp                                     serve on standard input and output; agents start it themselves
  kb mcp --http                              serve at an address of this machine, with a token, until Ctrl-C
"""


@click.command("mcp", epilog=_EPILOG)
@click.option("--http", "over_http", is_flag=True, help="Serve over HTTP, to this machine alone.")
@click.option("--port", type=click.IntRange(1024, 65535), help="With --http: listen here [default: 7412, or any free].")
@pass_call
def command(call: Call, over_http: bool, port: int | None) -> int:
    """Serve the knowledge base to agents (Model Context Protocol), until standard input ends.

    Tools: search, fetch, ask, list, status. All of them only read.
    """
    require_library()
    if not over_http:
        if port is not None:
            raise UsageError("--port goes with --http", "kb mcp --http --port 7500")
        from kb.mcp.server import serve_stdio

        serve_stdio(call.config)
        return 0
    from kb.mcp.http import TOKEN_VARIABLE, serve_http

    def tell(address: str, token_file: Path | None) -> None:
        click.echo(address)
        where = f"the token is that of {TOKEN_VARIABLE}" if token_file is None else f"the token is in {token_file}"
        echo_folded(plain_line(f"{where}; it goes into the header: Authorization: Bearer TOKEN"), err=True)
        click.echo("Ctrl-C ends it", err=True)

    serve_http(call.config, port, tell)
    return 0


def require_library() -> None:
    """Raises UsageError where the extra `mcp` is not installed."""
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        from kb.installation import extra_command

        raise UsageError("the library mcp is not installed", extra_command("mcp"))
