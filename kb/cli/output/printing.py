"""Lines of output: folded at spaces where they go to a terminal, in colours that a light and a dark background show."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import click

from kb.cli.output.terminal import columns, fold, link, plain, use_color, width_cells, with_code

Style: TypeAlias = dict[str, Any]

# What `click.style` takes. Green, yellow and cyan cannot be read on white, blue cannot on black.
MATCH: Style = {"fg": "magenta", "bold": True}
PLACE: Style = {"fg": "magenta"}
HEADING: Style = {"bold": True}
GOOD: Style = {"bold": True}
BAD: Style = {"fg": "red", "bold": True}
QUIET: Style = {"dim": True}

# Where a head leaves less than this and the text needs more, the text comes below it, indented by so much.
_LEAST_CELLS = 20
_INDENT_CELLS = 4


def styled(text: str, style: Style) -> str:
    """`text` in that style, where standard output shows colours."""
    return click.style(text, **style) if use_color() else text


def echo_folded(
    text: str, *, head: str = "", err: bool = False, style: Style | None = None, links_to: str | None = None
) -> None:
    """Prints one line: `head`, then `text`, on a terminal folded at spaces and indented below where it begins.

    With `links_to` every piece of the text is a link to that file.
    """
    stream = sys.stderr if err else sys.stdout
    width = columns() if stream.isatty() else 0
    indent = " " * width_cells(click.unstyle(head))
    if 0 < width < min(len(indent) + _LEAST_CELLS, len(indent) + width_cells(text)):
        bare = click.unstyle(head).rstrip()
        for start, end in fold(bare, width):
            click.echo(bare[start:end] if width_cells(bare) > width else head.rstrip(), err=err)
        head = indent = " " * _INDENT_CELLS
    pieces = [text[start:end] for start, end in fold(text, width - len(indent))] if width else [text]
    for at, piece in enumerate(pieces):
        shown = styled(piece, style) if style and not err else piece
        click.echo((indent if at else head) + (link(shown, links_to) if links_to else shown), err=err)


def echo_text(text: str) -> None:
    """Prints a text, on a terminal folded at spaces; its code keeps its lines."""
    for line, is_code in with_code(plain(text).splitlines()):
        if is_code:
            click.echo(line)
        else:
            echo_folded(line)


def echo_parts(parts: Sequence[str], *, style: Style | None = None) -> None:
    """Prints the parts on one line, on a terminal broken between them rather than inside one."""
    width = columns() if sys.stdout.isatty() else 0
    lines: list[str] = []
    for part in parts:
        joined = f"{lines[-1]}  {part}" if lines else part
        if lines and not 0 < width < width_cells(joined):
            lines[-1] = joined
        else:
            lines.append(part)
    for line in lines:
        echo_folded(line, style=style)


def echo_fields(rows: Iterable[tuple[str, str]], *, indent: str = "", width: int = 0) -> None:
    """Prints a name and its value per line, the values below one another; `width`: what the names take at least."""
    named = list(rows)
    widest = max((width, *(width_cells(name) for name, _ in named)))
    for name, value in named:
        echo_folded(value, head=f"{indent}{name}{' ' * (widest - width_cells(name))}  ")
