"""The `kb` program: global options, commands loaded when they are called, errors turned into exit codes once."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

import click

from kb import __version__
from kb.cli.call import Call, CommandGroup, Warm, help_option, option, prepared, version_option
from kb.cli.output.terminal import open_missing_streams, reader_went_away, replace_what_cannot_be_shown, was_printing
from kb.errors import FileError, UsageError
from kb.private import kept_private
from kb.private import read_only as read_only_mode

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

EXIT_OK = 0
EXIT_ERROR = 2
EXIT_INTERRUPTED = 130

# Name → the module of `kb.cli.commands` that has the command as NAME_command, imported when it is called, and its help.
COMMANDS = {
    "init": ("setup", "Create the configuration, the data directory and the workspace folder."),
    "ingest": ("ingest", "Update the index from your files."),
    "ingest-file": ("ingest", "Add a file from elsewhere, or text from standard input."),
    "search": ("search", "Find passages, each with an exact citation."),
    "ask": ("ask", "Answer a question from your notes, with citations, or say that they hold no answer."),
    "answers": ("answers", "Show earlier answers."),
    "sessions": ("answers", "Show and delete conversations."),
    "verify": ("answers", "Check whether the quotations of an answer are still in their files."),
    "fetch": ("places", "Print the text at citations, word for word."),
    "open": ("places", "Open a hit, a citation or a file in your editor or viewer."),
    "related": ("places", "Show links of a document, links to it, and what is near it."),
    "ui": ("serve", "Search, ask and read in the terminal, by keys."),
    "web": ("serve", "Search, ask and read on a page in your browser."),
    "status": ("state", "Show what is indexed, when, and what is pending."),
    "source": ("sources", "Add, remove, rename and move further folders of the knowledge base."),
    "vault": ("vaults", "Add, list and remove named knowledge bases."),
    "trust": ("setup", "Use the knowledge base of a project, as its .kb/config.toml is now."),
    "list": ("inspect", "List what is indexed."),
    "inspect": ("inspect", "Show all stored data of one document, chunk or name in code."),
    "models": ("setup", "Install and check the models that find passages by meaning."),
    "index": ("upkeep", "Rebuild parts of the index, or show its vectors."),
    "eval": ("eval", "Measure search and answers by golden questions."),
    "cache": ("upkeep", "Show and shrink the caches of extracted text and vectors."),
    "forget": ("upkeep", "Forget documents: remove their text from all that kb stores."),
    "reset": ("upkeep", "Remove data that kb has made: vectors, index, answers, or everything."),
    "export": ("transfer", "Write the knowledge base into one file, for another machine."),
    "import": ("transfer", "Unpack what kb export wrote."),
    "config": ("setup", "Show the configuration in effect."),
    "doctor": ("state", "Check the installation, the index and the models."),
    "schema": ("state", "Show what this kb can do, its versions, and what is indexed."),
    "cluster": ("cluster", "Show the workers of a Dask scheduler, and send models to them."),
    "watch": ("watch", "Keep the index as your files are, and answer calls of other terminals at once."),
    "mcp": ("serve", "Serve the knowledge base to agents (Model Context Protocol)."),
    "audit": ("answers", "Show which texts agents received."),
    "sql": ("inspect", "Prepare the plain sqlite3 program for this knowledge base."),
    "completion": ("setup", "Print the completion script of a shell."),
    "help": ("setup", "Show the help of kb or of one of its commands."),
}

# What `--vault all` goes with. An answer is of one knowledge base, which keeps it with what it quotes.
OF_ALL = ("search", "status", "list", "fetch", "open", "vault", "trust", "completion", "help")

# What else people type → the command, or the option of kb.
OTHER_WORDS = {
    **dict.fromkeys(("find", "grep", "query"), "search"),
    **dict.fromkeys(("show", "cat", "get", "read"), "fetch"),
    **dict.fromkeys(("update", "sync", "scan", "reindex", "refresh"), "ingest"),
    "add": "ingest-file",
    **dict.fromkeys(("sources", "folder", "folders"), "source"),
    **dict.fromkeys(("vaults", "base", "bases"), "vault"),
    **dict.fromkeys(("backup", "dump"), "export"),
    "restore": "import",
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
        module = import_module(f"kb.cli.commands.{COMMANDS[cmd_name][0]}")
        return prepared(getattr(module, f"{cmd_name.replace('-', '_')}_command"))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem  # of a call that a shell makes

        names = [CompletionItem(name, help=text) for name, (_, text) in COMMANDS.items() if name.startswith(incomplete)]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_text) for name, (_, help_text) in COMMANDS.items()])


@click.command(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 found or done, 1 nothing found, 2 error, 3 doctor found a fault, 130 stopped by Ctrl-C.",
)
@option("--config", "config_path", metavar="FILE", help="Configuration file [env: KB_CONFIG].")
@option("--vault", metavar="NAME", help="Knowledge base of that name: see kb vault [env: KB_VAULT].")
@option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="Set one key, e.g. search.default_k=5.")
@option("--read-only", is_flag=True, help="Change nothing: commands that would write fail [env: KB_READ_ONLY].")
@option("--verbose", is_flag=True, help="Show what caused an error.")
@option("--debug", is_flag=True, help="Write a log with every SQL statement and full tracebacks.")
@version_option(f"kb, version {__version__}")
@help_option
@click.pass_context
def cli(
    ctx: click.Context,
    config_path: str | None,
    vault: str | None,
    settings: tuple[str, ...],
    read_only: bool,
    verbose: bool,
    debug: bool,
) -> None:
    """Find passages in your own notes, with exact citations, in Korean and English.

    \b
    kb init ~/notes               # set up, once
    kb ingest                     # index what is new or changed
    kb search "청킹 규칙"          # ranked passages with path and lines
    """
    ctx.obj = Call(config_path, settings, verbose, debug, ctx.obj, vault)
    if ctx.invoked_subcommand not in OF_ALL and ctx.obj.is_of_all:
        raise UsageError(f"kb {ctx.invoked_subcommand} works in one vault", "name it: --vault NAME; kb vault list")
    if read_only:
        ctx.with_resource(read_only_mode())
    if debug:
        from kb.cli.failures import start_log

        start_log(ctx.obj.config.log_dir)


def run_here(args: list[str]) -> int:
    """Runs a call for which this process was started, and returns the exit code."""
    open_missing_streams()
    return run_once(args)


def run_once(args: list[str], warm: Warm | None = None) -> int:
    """Runs the only call of this process and returns the exit code, after all output is written."""
    replace_what_cannot_be_shown()
    code = main(args, warm)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # the reader went away, or its disk is full: main has shown that, and Python must not repeat it
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return code


def main(args: list[str], warm: Warm | None = None) -> int:
    """Runs one call and returns the exit code. Every exception, expected or not, is shown as an error with a hint."""
    with kept_private():
        return _main(args, warm)


def _main(args: list[str], warm: Warm | None) -> int:
    try:
        code = _call(args, warm)
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
        from kb.cli.failures import show_failure

        if isinstance(error, BrokenPipeError) and reader_went_away():
            return EXIT_OK  # the reader (head, less) went away: nothing is wrong, and nothing more may be written
        if isinstance(error, OSError) and was_printing(error):
            unwritten = FileError(f"the output could not be written: {error.strerror}", "send it somewhere else")
            unwritten.__cause__, error = error, unwritten
        with suppress(OSError):  # standard error may be closed or full: the exit code stays
            show_failure(cli, error, args)
    return EXIT_ERROR


def _call(args: list[str], warm: Warm | None) -> object:
    """Runs the command. `cli.main` of click is not used, as it exits with code 1, "no hit", when a reader goes away."""
    if "_KB_COMPLETE" in os.environ:
        prepared(cli)
        cli.main(args, prog_name="kb")  # answers the shell and exits
    try:
        with cli.make_context("kb", list(args), obj=warm) as ctx:
            code = cli.invoke(ctx)
            return EXIT_INTERRUPTED if ctx.find_object(Call) and ctx.obj.was_interrupted else code
    except click.exceptions.Exit as done:  # --help and --version
        return done.exit_code
