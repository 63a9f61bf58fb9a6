"""`kb mcp`: the knowledge base for agents, by the Model Context Protocol."""

from __future__ import annotations

import click

from kb.cli.call import Call, pass_call
from kb.errors import UsageError

_EPILOG = """\b
Examples:
  kb mcp                                     serve on standard input and output; agents start it themselves
"""


@click.command("mcp", epilog=_EPILOG)
@pass_call
def command(call: Call) -> int:
    """Serve the knowledge base to agents (Model Context Protocol), until standard input ends.

    Tools: search, fetch, ask, list, status. All of them only read.
    """
    require_library()
    from kb.mcp.server import serve_stdio

    serve_stdio(call.config)
    return 0


def require_library() -> None:
    """Raises UsageError where the extra `mcp` is not installed."""
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        from kb.installation import extra_command

        raise UsageError("the library mcp is not installed", extra_command("mcp"))
