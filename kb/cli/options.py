"""The kinds of options: declared with their help on one line, the numbers, the words of a question, the filters.

click trims a help text with `inspect`, which brings the parser and the disassembler of Python with it, and looks for
translations. A cold search avoids both (`kb.cli.entry`): its options are declared by these functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar

import click

from kb.domain.filters import OPTIONS, Filter, SearchFilters
from kb.domain.search import MODES

Command = TypeVar("Command", bound=Callable[..., Any])


class _Option(click.Option):
    """An option of click that leaves its help as it is."""

    def __init__(self, *args: Any, help: str, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.help = help


class QuestionCommand(click.Command):
    """A command whose arguments are the words of a question: `-redis` and `-19` are among them, being no options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does, but for words that begin with a minus: no argument has the NUL that marks them meanwhile."""
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
    """A whole number within bounds, called so in help and errors."""

    name = "whole number"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """The placeholder of its value in the help."""
        return "NUMBER"


class Number(click.FloatRange):
    """A number within bounds, called so in help and errors."""

    name = "number"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """The placeholder of its value in the help."""
        return "NUMBER"


def option(*names: str, help: str, **settings: Any) -> Callable[[Command], Command]:
    """As `click.option`."""
    return click.option(*names, cls=_Option, help=help, **settings)


def mode_option(command: Command) -> Command:
    """The option that chooses between words and meaning."""
    kinds = "Search by words and meaning (hybrid), by words (lexical) or by meaning (vector)."
    return option("--mode", type=click.Choice(list(MODES)), help=kinds)(command)


def help_option(command: Command) -> Command:
    """The option that every command has, for one that is to start fast; the last of its decorators."""
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
    """The kind of file. Raises: BadParameter for a kind kb does not read, instead of finding nothing."""
    if media is not None:
        from kb.domain.kinds import KINDS

        family = media.partition("/")[0]
        if family not in KINDS.families and family not in (read := ctx.obj.config.plugins.extractors):
            known = ", ".join((*KINDS.families, *read))
            raise click.BadParameter(f"{media!r} is no kind of file that kb reads ({known})")
    return media


def filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with an option for each filter, which it takes as one `filters: SearchFilters`."""

    @wraps(command)
    def filtered(*args: object, **options: Any) -> Any:
        filters = SearchFilters(**{each.field: options.pop(each.field) for each in OPTIONS})
        return command(*args, filters=filters, **options)

    taking: Callable[..., Any] = filtered
    for each in reversed(OPTIONS):
        taking = _filter_option(each)(taking)
    return taking


def _filter_option(taken: Filter) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return option(
        f"--{taken.name.replace('_', '-')}",
        taken.field,
        multiple=taken.many,
        metavar=taken.metavar or None,
        type=click.Choice(taken.choices) if taken.choices else None,
        callback=_known_media if taken.field == "media" else None,
        help=taken.help,
    )
