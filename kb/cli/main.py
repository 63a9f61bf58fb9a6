"""The `kb` program: global options, commands loaded when they are called, errors turned into exit codes once."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import NoReturn

import click

from kb import __version__
from kb.cli.call import Call, CommandGroup, prepared
from kb.cli.options import help_option, option, version_option
from kb.errors import KbError
from kb.private import kept_private

EXIT_OK = 0
EXIT_NO_HIT = 1
EXIT_ERROR = 2
EXIT_UNHEALTHY = 3
EXIT_INTERRUPTED = 130

# name → one line of help; the module kb.cli.commands.<name> is imported when the command runs.
COMMANDS = {
    "init": "Create the configuration, the data directory and the workspace folder.",
    "ingest": "Update the index from your files.",
    "ingest-file": "Take in a file from elsewhere, or text from standard input.",
    "search": "Find passages, each with an exact citation.",
    "ask": "Answer a question from your notes, with citations, or say that they hold no answer.",
    "answers": "Show earlier answers.",
    "sessions": "Show and delete conversations.",
    "verify": "Check whether the quotations of an answer are still in their files.",
    "fetch": "Print the text at citations, word for word.",
    "open": "Open a hit, a citation or a file in your editor or viewer.",
    "ui": "Search, ask and read in the terminal, by keys.",
    "web": "Search, ask and read on a page in your browser.",
    "status": "Show what is indexed, when, and what is pending.",
    "list": "List what is indexed.",
    "inspect": "Show all that is stored of one document, chunk or name in code.",
    "models": "Install and check the models that find passages by meaning.",
    "index": "Rebuild parts of the index, or show its vectors.",
    "eval": "Measure how well questions find what they should.",
    "cache": "Show and shrink the caches, which save reading and embedding twice.",
    "forget": "Forget documents: nothing of their text stays in anything kb keeps.",
    "reset": "Remove what kb has made: vectors, index, answers, or everything.",
    "config": "Show the configuration in effect.",
    "doctor": "Check the installation, the index and the models.",
    "schema": "Show what this kb can do, its versions, and what is indexed.",
    "mcp": "Serve the knowledge base to agents (Model Context Protocol).",
    "audit": "Show what agents were given.",
    "sql": "Prepare the plain sqlite3 program for this knowledge base.",
    "completion": "Print the completion script of a shell.",
    "help": "Show how kb, or one of its commands, is called.",
}


# What else people type → the command, or the option of kb.
OTHER_WORDS = {
    **dict.fromkeys(("find", "grep", "query"), "search"),
    **dict.fromkeys(("show", "cat", "get", "read"), "fetch"),
    **dict.fromkeys(("update", "sync", "scan", "reindex", "refresh"), "ingest"),
    **dict.fromkeys(("add", "import"), "ingest-file"),
    **dict.fromkeys(("info", "stats"), "status"),
    **dict.fromkeys(("question", "chat"), "ask"),
    **dict.fromkeys(("history", "log"), "answers"),
    **dict.fromkeys(("check", "health"), "doctor"),
    **dict.fromkeys(("ls", "docs"), "list"),
    **dict.fromkeys(("setup", "new"), "init"),
    **dict.fromkeys(("edit", "view"), "open"),
    **dict.fromkeys(("serve", "server", "gui"), "web"),
    **dict.fromkeys(("settings", "set"), "config"),
    **dict.fromkeys(("delete", "clear", "clean"), "reset"),
    "tui": "ui",
    "version": "--version",
}


class _Commands(CommandGroup):
    """The commands above, each imported only when it is the one called."""

    other_words = OTHER_WORDS

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        from importlib import import_module

        return prepared(import_module(f"kb.cli.commands.{cmd_name.replace('-', '_')}").command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 found or done, 1 nothing found, 2 error, 3 doctor found a fault, 130 stopped by Ctrl-C.",
)
@option("--config", "config_path", metavar="FILE", help="Configuration file [env: KB_CONFIG].")
@option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="Set one key, e.g. search.default_k=5.")
@option("--read-only", is_flag=True, help="Change nothing: what would write refuses [env: KB_READ_ONLY].")
@option("--verbose", is_flag=True, help="Show what caused an error.")
@option("--debug", is_flag=True, help="Write a log with every SQL statement and full tracebacks.")
@version_option(f"kb, version {__version__}")
@help_option
@click.pass_context
def cli(
    ctx: click.Context,
    config_path: str | None,
    settings: tuple[str, ...],
    read_only: bool,
    verbose: bool,
    debug: bool,
) -> None:
    """Find passages in your own notes, with exact citations, in Korean and English.

    \b
    kb init --root ~/notes        # set up, once
    kb ingest                     # index what is new or changed
    kb search "청킹 규칙"          # ranked passages with path and lines
    """
    ctx.obj = Call(config_path, settings, verbose, debug)
    if read_only:
        from kb.writable import read_only as kept_read_only

        ctx.with_resource(kept_read_only())
    if debug:
        from kb.cli.debug_log import start_log

        start_log(ctx.obj.config.log_dir)


def run() -> NoReturn:
    """Runs kb on the process's arguments and ends the process."""
    from kb.cli.output.streams import open_missing_streams, replace_what_cannot_be_shown

    open_missing_streams()
    replace_what_cannot_be_shown()
    code = main(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # the reader went away, or its disk is full: main has told, and Python is not to tell again
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(code)


def main(args: list[str]) -> int:
    """The exit code of one call. Whatever is raised, foreseen or not, ends here as an error with a hint."""
    with kept_private():
        return _main(args)


def _main(args: list[str]) -> int:
    try:
        code = _call(args)
        sys.stdout.flush()
        return code if isinstance(code, int) else EXIT_OK
    except SystemExit:  # the answer to a shell's completion
        raise
    except (click.Abort, KeyboardInterrupt) as stop:
        with suppress(OSError):
            click.echo("aborted", err=True)
        by_key = isinstance(stop, KeyboardInterrupt) or isinstance(stop.__context__, KeyboardInterrupt)
        return EXIT_INTERRUPTED if by_key else EXIT_ERROR  # a prompt that met the end of its input is an error
    except BaseException as error:  # noqa: BLE001  the last handler
        from kb.cli.output.streams import reader_went_away, was_printing
        from kb.errors import FileError

        if isinstance(error, BrokenPipeError) and reader_went_away():
            return EXIT_OK  # the reader (head, less) went away: nothing is wrong, and nothing more may be written
        if isinstance(error, OSError) and was_printing(error):
            unwritten = FileError(f"the output could not be written: {error.strerror}", "send it somewhere else")
            unwritten.__cause__, error = error, unwritten
        with suppress(OSError):  # standard error may be closed or full: the exit code stands
            _tell(error, args)
    return EXIT_ERROR


def _call(args: list[str]) -> object:
    """What the command returns. `cli.main` would end the process with exit code 1, no hit, when a reader goes away."""
    if "_KB_COMPLETE" in os.environ:
        prepared(cli)
        cli.main(args, prog_name="kb")  # answers the shell and exits
    try:
        with cli.make_context("kb", list(args)) as ctx:
            code = cli.invoke(ctx)
            return EXIT_INTERRUPTED if ctx.find_object(Call) and ctx.obj.was_interrupted else code
    except click.exceptions.Exit as done:  # --help and --version
        return done.exit_code


_MESSAGE_CHARS = 300


def _tell(error: BaseException, args: list[str]) -> None:
    """Shows what was raised: in kb's own words where it was foreseen, else what the last handler makes of it."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.ctx.get_help() if error.ctx else error.format_message(), err=True)
    elif isinstance(error, click.ClickException):
        from kb.errors import UsageError

        # On one line; it repeats the words typed, which may be a shell's whole glob.
        message = " ".join(error.format_message().split())
        _show(UsageError(message[:_MESSAGE_CHARS] + "…" * (len(message) > _MESSAGE_CHARS), _usage_hint(error)), args)
    elif isinstance(error, KbError):
        _show(error, args)
    else:
        from kb.cli.unforeseen import unforeseen

        words = cli.make_context("kb", list(args), resilient_parsing=True).params
        call = Call(words["config_path"], words["settings"], words["verbose"], words["debug"])
        _show(unforeseen(error, call), args)


def _usage_hint(error: click.ClickException) -> str | None:
    """Where to read how a command is called; for an option of kb itself, where that stands."""
    if not isinstance(error, click.UsageError) or error.ctx is None:
        return None
    if isinstance(error, click.NoSuchOption) and any(error.option_name in option.opts for option in cli.params):
        return f"{error.option_name} goes before the command: kb {error.option_name} … {error.ctx.info_name}"
    return f"{error.ctx.command_path} --help shows how it is called"


def _show(error: KbError, args: list[str]) -> None:
    if "--json" in args or "--bulk" in args:
        from kb.cli.call import json_line
        from kb.cli.output.streams import as_utf8

        as_utf8(sys.stderr).write(json_line(error) + "\n")
        sys.stderr.flush()
    else:
        _show_text(error, args)
    if "--debug" in args:
        from kb.cli.debug_log import log_traceback

        log_traceback(error)


def _show_text(error: KbError, args: list[str]) -> None:
    from kb.cli.output.printing import echo_folded
    from kb.cli.output.terminal import plain_line

    echo_folded(plain_line(error.message), head="error: ", err=True)
    if error.hint:
        echo_folded(plain_line(error.hint), head="  hint: ", err=True)
    if "--verbose" in args or "--debug" in args:
        cause = error.__cause__
        while cause is not None:
            click.echo(f"  caused by: {type(cause).__name__}: {plain_line(str(cause))}", err=True)
            cause = cause.__cause__
