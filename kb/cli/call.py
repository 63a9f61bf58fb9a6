"""Shared by every command: the session, opened on first use; help with examples; the kinds of options.

click trims help texts with `inspect`, which imports Python's parser and disassembler. A cold search avoids it
(`kb.cli.deferred`), because the functions of this file declare the options.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from kb.cli.output.printing import HEADING, echo_folded, styled
from kb.cli.projects import project_above
from kb.config import Config, load
from kb.domain.filters import OPTIONS, Filter, SearchFilters
from kb.domain.search import MODES
from kb.domain.text import plain_line
from kb.errors import KbError, UsageError
from kb.private import is_read_only, make_private_folder

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from kb.operations.answers.last_shown import LastShown
    from kb.operations.opening.base import Base
    from kb.operations.opening.loaded_models import LoadedModels

Command = TypeVar("Command", bound=Callable[..., Any])


class _Option(click.Option):
    """A click option that leaves its help text unchanged."""

    def __init__(self, *args: Any, help: str, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.help = help


class QuestionCommand(click.Command):
    """A command whose arguments are the words of a question: `-redis` and `-19` are arguments, not options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parses as click does; words that begin with a minus have a NUL before it meanwhile, as no argument has."""
        params = self.get_params(ctx)
        options = {name: each for each in params if isinstance(each, click.Option) for name in each.opts}
        marked: list[str] = []
        rest = iter(args)
        for arg in rest:
            marked.append(f"\0{arg}" if _is_word(arg, options) else arg)
            if arg == "--":
                marked += rest
            elif arg in options and not options[arg].is_flag:
                marked += [value for value in [next(rest, None)] if value is not None]
        left = super().parse_args(ctx, marked)
        for name in (each.name for each in params if isinstance(each, click.Argument)):
            words = ctx.params.get(name or "") or ()
            ctx.params[name or ""] = tuple(word.removeprefix("\0") for word in words)
        return left


def _is_word(arg: str, options: Mapping[str, click.Option]) -> bool:
    if arg in options or len(arg) < 2 or arg[0] != "-" or arg[1] == "-":
        return False
    short = options.get(arg[:2])
    return short is None or short.is_flag or not arg[2:].isdecimal()


class WholeNumber(click.IntRange):
    """A whole number within bounds, called "whole number" in help and errors."""

    name = "whole number"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """The placeholder of its value in the help."""
        return "NUMBER"


class Number(click.FloatRange):
    """A number within bounds, called "number" in help and errors."""

    name = "number"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """The placeholder of its value in the help."""
        return "NUMBER"


def option(*names: str, help: str, **settings: Any) -> Callable[[Command], Command]:
    """As `click.option`."""
    return click.option(*names, cls=_Option, help=help, **settings)


def mode_option(command: Command) -> Command:
    """Adds the option that chooses between words and meaning."""
    kinds = "Search by words and meaning (hybrid), by words (lexical) or by meaning (vector)."
    return option("--mode", type=click.Choice(list(MODES)), help=kinds)(command)


def help_option(command: Command) -> Command:
    """Adds the option --help to a command that must start fast; it is the last decorator."""
    return _telling("-h", "--help", help="Show this message and exit.", said=click.Context.get_help)(command)


def version_option(version: str) -> Callable[[Command], Command]:
    """The option that shows the version."""
    return _telling("--version", help="Show the version and exit.", said=lambda _: version)


def _telling(*names: str, help: str, said: Callable[[click.Context], str]) -> Callable[[Command], Command]:
    """An option that prints a text and ends the call, wherever it is on the command line."""

    def tell(ctx: click.Context, param: click.Parameter, is_asked: bool) -> None:
        if is_asked and not ctx.resilient_parsing:
            click.echo(said(ctx), color=ctx.color)
            ctx.exit()

    return option(*names, help=help, is_flag=True, expose_value=False, is_eager=True, callback=tell)


def _known_media(ctx: click.Context, _: click.Parameter, media: str | None) -> str | None:
    """Returns the kind of file. Raises: BadParameter for a kind that kb does not read, as it would find nothing."""
    if media is not None:
        from kb.domain.kinds import KINDS

        family = media.partition("/")[0]
        if family not in KINDS.families and family not in (read := ctx.obj.config.plugins.extractors):
            known = ", ".join((*KINDS.families, *read))
            raise click.BadParameter(f"{media!r} is no kind of file that kb reads ({known})")
    return media


def filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds an option for each filter to a command, which gets them together as `filters: SearchFilters`."""

    @wraps(command)
    def filtered(*args: object, **options: Any) -> Any:
        filters = SearchFilters(**{each.field: options.pop(each.field) for each in OPTIONS})
        return command(*args, filters=filters, **options)

    taking: Callable[..., Any] = filtered
    for each in reversed(OPTIONS):
        taking = _filter_option(each)(taking)
    return taking


def _only_one(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> str | None:
    """Returns the one value of a filter, if any. Raises: BadParameter for several."""
    if len(given) > 1:
        raise click.BadParameter(f"it takes one value, and got {len(given)}: {', '.join(given)}")
    value = given[0] if given else None
    return _known_media(ctx, param, value) if param.name == "media" else value


def _filter_option(taken: Filter) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return option(
        f"--{taken.name.replace('_', '-')}",
        taken.field,
        multiple=True,
        metavar=taken.metavar or None,
        type=click.Choice(taken.choices) if taken.choices else None,
        callback=None if taken.many else _only_one,
        help=taken.help,
    )


class Warm(NamedTuple):
    """What a process that was started before the call provides for it (`kb.cli.watch_workers`).

    `run_program` runs a program on the caller's terminal and returns its exit code. Raises: OSError.
    """

    models: LoadedModels
    run_program: Callable[[Sequence[str]], int]


class Call:
    """One call of kb with its global options. `was_interrupted`: Ctrl-C has stopped long work after a step."""

    was_interrupted = False
    in_project = True
    """Whether a project around the working directory counts, where no other knowledge base is named."""

    def __init__(
        self,
        config_path: str | None,
        settings: tuple[str, ...],
        verbose: bool,
        debug: bool,
        warm: Warm | None = None,
        vault: str | None = None,
    ) -> None:
        self.warm = warm
        self.config_path = config_path
        self.vault = vault
        self.settings = settings
        self.verbose = verbose
        self.debug = debug
        self._config: Config | None = None
        self._session: Base | None = None

    def same_options(self) -> list[str]:
        """The options by which another process of kb has the same configuration. Raises: as `config`."""
        named = ["--config", str(self.config.file)] if self.config.file else []
        return [*named, *(word for setting in self.settings for word in ("--set", setting))]

    @property
    def named(self) -> str | None:
        """The configuration file that an option or the environment names; None for the default file.

        Raises: UsageError if two are named, or for an unknown vault.
        """
        if self.vault or os.environ.get("KB_VAULT"):
            from kb.config.vaults import chosen  # most calls name none

            return chosen(self.config_path, self.vault, os.environ)
        return self.config_path or os.environ.get("KB_CONFIG")

    @property
    def chosen_by(self) -> str:
        """What names the knowledge base of this call, such as `--vault work`; "" where nothing does."""
        names = {"--config": self.config_path, "--vault": self.vault}
        names |= {} if any(names.values()) else {name: os.environ.get(name) for name in ("KB_CONFIG", "KB_VAULT")}
        return next((f"{name} {value}" for name, value in names.items() if value), "")

    @property
    def project(self) -> str | None:
        """The file of the project around the working directory, if it is trusted; a note where it is not."""
        file = project_above() if self.in_project and not self.chosen_by else None
        if file is None:
            return None
        from kb.config.projects import is_trusted  # few calls are in a project

        if is_trusted(Path(file), os.environ):
            return file
        echo_folded(
            plain_line(f"{file} is not used, for it is not trusted: kb trust shows it"), head="note: ", err=True
        )
        return None

    @property
    def is_of_all(self) -> bool:
        """Whether `--vault all` is asked for; `config` is then that of the usual one, which keeps the list shown."""
        return (self.vault or (not self.config_path and os.environ.get("KB_VAULT"))) == "all"

    def of_vault(self, name: str) -> Call:
        """This call in the vault of that name. Raises: UsageError for an unknown one."""
        return Call(None, self.settings, self.verbose, self.debug, self.warm, name)

    @property
    def config(self) -> Config:
        """The effective configuration. Raises: ConfigNotFound, ConfigError; UsageError as `named`."""
        if self._config is None:
            self._config = load(self.named or self.project, self.settings)
            if is_read_only() and self._config.snapshot_manifest.exists():
                from kb.operations.admin.transfer import snapshot_fault

                if fault := snapshot_fault(self._config):
                    echo_folded(plain_line(f"{fault}; copy or export it again"), head="note: ", err=True)
        return self._config

    @property
    def session(self) -> Base:
        """The knowledge base, open from its first use to the command's end. Raises: ConfigNotFound, ConfigError."""
        if self._session is None:
            from kb.operations.opening.base import Base  # not every command asks a knowledge base

            self._session = Base(self.config, models=self.warm and self.warm.models)
            click.get_current_context().call_on_close(self._session.close)
        return self._session

    def remember(self, shown: LastShown) -> None:
        """Stores a list that is about to be printed, for `kb open N`; prints a note on stderr if it cannot be stored.

        It is stored before printing, as a reader may stop reading early (`kb search … | head -1`).
        """
        from kb.operations.answers.last_shown import keep_shown

        if self.is_of_all and not is_read_only():
            make_private_folder(self.config.data_dir)
        if not is_read_only() and (note := keep_shown(self.config.last_shown, shown)):
            echo_folded(plain_line(note), head="note: ", err=True)


pass_call = click.make_pass_decorator(Call)


def in_each_vault(command: Command) -> Command:
    """With `--vault all`, and without --json, the command in each vault in turn, below its name.

    The exit code is 2 where it fails in one, else the lowest of all.
    """

    @wraps(command)
    def called(call: Call, *, as_json: bool, **options: Any) -> int:
        if not call.is_of_all:
            code: int = command(call, as_json=as_json, **options)
            return code
        from kb.config.vaults import vaults

        if as_json:
            raise UsageError("--json prints one vault at a time", "kb vault list --json has their names")
        codes = []
        for name in vaults(os.environ):
            click.echo(styled(name, HEADING))
            try:
                codes.append(command(call.of_vault(name), as_json=False, **options) or 0)
            except KbError as error:
                echo_folded(plain_line(error.message), head="error: ", err=True)
                codes.append(2)
        return 2 if 2 in codes else min(codes, default=1)

    return called  # type: ignore[return-value]


class HelpContext(click.Context):
    """A click context whose help keeps examples within the width of the terminal."""

    def make_formatter(self) -> click.HelpFormatter:
        from kb.cli.output.help_text import HelpFormatter, headings

        return HelpFormatter(headings=headings(self), width=self.terminal_width, max_width=self.max_content_width)


def prepared(command: click.Command | None) -> click.Command | None:
    """A command with kb's help and, while a shell completes a command line, with the values of its options."""
    if command is not None:
        command.context_class = HelpContext
        if "_KB_COMPLETE" in os.environ:
            for param in command.params:
                param.shell_complete = partial(_offered, command.name or "", param)  # type: ignore[method-assign]
    return command


def _offered(command: str, param: click.Parameter, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    from kb.cli.completing import offered  # names of commands and options are completed without a knowledge base

    return offered(command, param, ctx, incomplete)


class CommandGroup(click.Group):
    """A group of commands; its help lists each with its whole first sentence, on several lines if needed."""

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
        """Writes the examples of the group; if it has none, the first example of each of its commands."""
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


def json_option(help_text: str) -> Callable[[Command], Command]:
    """The --json flag of a command; `help_text` names the schema it prints."""
    return option("--json", "as_json", is_flag=True, help=help_text)
