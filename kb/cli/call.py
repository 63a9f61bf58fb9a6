"""Shared by every command: the configuration and the session, opened on first use, and help with examples."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kb.cli.options import option
from kb.cli.output.printing import echo_folded
from kb.cli.output.terminal import plain_line
from kb.config import Config, load
from kb.private import is_read_only

if TYPE_CHECKING:
    from kb.operations.answers.last_shown import Shown
    from kb.operations.opening.base import Base


class Call:
    """One call of kb: its global options. `was_interrupted`: Ctrl-C stopped long work after a step."""

    was_interrupted = False

    def __init__(self, config_path: str | None, settings: tuple[str, ...], verbose: bool, debug: bool) -> None:
        self.config_path = config_path
        self.settings = settings
        self.verbose = verbose
        self.debug = debug
        self._config: Config | None = None
        self._session: Base | None = None

    @property
    def config(self) -> Config:
        """The effective configuration.

        Raises: ConfigNotFound, ConfigError.
        """
        if self._config is None:
            self._config = load(self.config_path, self.settings)
        return self._config

    @property
    def session(self) -> Base:
        """The session of the knowledge base, opened on first use and closed when the command ends.

        Raises: ConfigNotFound, ConfigError.
        """
        if self._session is None:
            from kb.operations.opening.base import Base  # not every command asks a knowledge base

            self._session = Base(self.config)
            click.get_current_context().call_on_close(self._session.close)
        return self._session

    def remember(self, shown: Shown) -> None:
        """Keeps a list that is about to be printed, for `kb open N`; prints a note on stderr where it cannot be kept.

        It is kept first: a reader may leave before all is printed (`kb search … | head -1`).
        """
        from kb.operations.answers.last_shown import keep_shown

        if not is_read_only() and (note := keep_shown(self.config.last_shown, shown)):
            echo_folded(plain_line(note), head="note: ", err=True)


pass_call = click.make_pass_decorator(Call)


class HelpContext(click.Context):
    """A command's surroundings, with help that keeps its examples within the width."""

    def make_formatter(self) -> click.HelpFormatter:
        from kb.cli.output.help_text import HelpFormatter, headings

        return HelpFormatter(headings=headings(self), width=self.terminal_width, max_width=self.max_content_width)


def prepared(command: click.Command | None) -> click.Command | None:
    """A command with kb's help; while a shell completes a command line, with the values its options take."""
    if command is not None:
        command.context_class = HelpContext
        if "_KB_COMPLETE" in os.environ:
            from kb.cli.completing import offer_values

            offer_values(command)
    return command


class CommandGroup(click.Group):
    """Commands under one name. Each is listed with its whole first sentence, on as many lines as needed."""

    context_class = HelpContext
    other_words: Mapping[str, str] = {}
    """What else people type for a command, or for an option of the group."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does; for an unknown name, the error names the nearest command."""
        if args and args[0] not in (names := self.list_commands(ctx)):
            from difflib import get_close_matches

            near = self.other_words.get(args[0]) or next(iter(get_close_matches(args[0], names, n=1)), None)
            known = ", ".join(names) if len(names) < 10 else f"see {ctx.command_path} --help"
            ctx.fail(f"no command {args[0]!r}. " + (f"Did you mean {near}?" if near else f"There are: {known}."))
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return prepared(super().get_command(ctx, cmd_name))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the group's examples: its own, else the first of each of its commands."""
        if self.epilog is not None:
            super().format_epilog(ctx, formatter)
            return
        commands = [self.get_command(ctx, name) for name in self.list_commands(ctx)]
        examples = ((each.epilog or "").partition("Examples:\n")[2] for each in commands if each is not None)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text("\b\nExamples:\n" + "\n".join(each.partition("\n")[0] for each in examples))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        listed = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.get_short_help_str(_WHOLE)) for name, each in listed if each is not None])


# More characters than the first sentence of any command's help has.
_WHOLE = 500

Command = TypeVar("Command", bound=Callable[..., Any])


def json_option(help_text: str) -> Callable[[Command], Command]:
    """The --json flag of a command; `help_text` names the schema it prints."""
    return option("--json", "as_json", is_flag=True, help=help_text)
