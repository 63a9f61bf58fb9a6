"""`kb web`: the page, served to this machine's browser."""

from __future__ import annotations

import click

from kb.cli.call import Call, pass_call
from kb.cli.options import WholeNumber
from kb.cli.output.terminal import plain_line
from kb.models.requirements import lacking_packages, require
from kb.operations.session.session import open_session
from kb.private import is_read_only

_EPILOG = """\b
Examples:
  kb web                          # opens the page in your browser
  kb web 게이트웨이 재시도            # opens it with a question
  kb web --no-open --port 7500    # prints the address alone
"""


@click.command("web", epilog=_EPILOG)
@click.argument("question", nargs=-1)
@click.option("--port", type=WholeNumber(1024, 65535), help="Listen here [default: 7411, or any that is free].")
@click.option("--open/--no-open", "opens", default=True, help="Show the page in your browser.")
@click.option("--allow-write", is_flag=True, help="Keep the answers that are asked for on the page.")
@pass_call
def command(call: Call, question: tuple[str, ...], port: int | None, opens: bool, allow_write: bool) -> int:
    """Search, ask and read on a page in your browser, until Ctrl-C.

    The page is served to this machine alone (127.0.0.1). Its address holds a key that is new each time; without it the
    server answers nobody. It fetches nothing from anywhere else, and what is written in a document never runs.
    """
    require("kb web", lacking_packages(("starlette", "uvicorn", "nh3"), "web"))
    from kb.web.serve import serve

    with open_session(call.config, many=True, audience="page") as session:
        with session.reading():
            pass  # what is wrong with the knowledge base is told here, and not on a page that cannot work

        def tell(address: str) -> None:
            click.echo(f"kb's page: {plain_line(address)}")
            click.echo("Ctrl-C ends it", err=True)

        may_write = not is_read_only()
        serve(
            session,
            port,
            may_write=allow_write and may_write,
            opens=opens and may_write,
            question=" ".join(question),
            tell=tell,
        )
    return 0
