"""The options that limit a command to some documents; every command takes the same ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from kb.cli.options import option
from kb.domain.filters import OPTIONS, Filter, SearchFilters


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
        taking = _option(each)(taking)
    return taking


def _option(taken: Filter) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return option(
        f"--{taken.name.replace('_', '-')}",
        taken.field,
        multiple=taken.many,
        metavar=taken.metavar or None,
        type=click.Choice(taken.choices) if taken.choices else None,
        callback=_known_media if taken.field == "media" else None,
        help=taken.help,
    )
