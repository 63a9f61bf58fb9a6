"""Lines of output: folded at spaces where they go to a terminal, in colours that a light and a dark background show."""

from __future__ import annotations

import sys
from typing import Any, TypeAlias

import click

from kb.cli.output.terminal import columns, fold, use_color, width_cells

Style: TypeAlias = dict[str, Any]

# What `click.style` takes. Green, yellow and cyan cannot be read on white, blue cannot on black.
MATCH: Style = {"fg": "magenta", "bold": True}
PLACE: Style = {"fg": "magenta"}
HEADING: Style = {"bold": True}
GOOD: Style = {"bold": True}
BAD: Style = {"fg": "red", "bold": True}
QUIET: Style = {"dim": True}

# Where a head leaves less than this, the whole line is folded, its later lines indented by so much.
_LEAST_CELLS = 20
_INDENT_CELLS = 4


def styled(text: str, style: Style) -> str:
    """`text` in that style, where standard output shows colours."""
    return click.style(text, **style) if use_color() else text


def echo_folded(text: str, *, head: str = "", err: bool = False, style: Style | None = None) -> None:
    """Prints one line: `head`, then `text`, on a terminal folded at spaces and indented below where it begins."""
    stream = sys.stderr if err else sys.stdout
    width = columns() if stream.isatty() else 0
    indent = " " * width_cells(click.unstyle(head))
    if 0 < width < len(indent) + _LEAST_CELLS:
        head, text, indent = "", head + text, " " * _INDENT_CELLS
    pieces = [text[start:end] for start, end in fold(text, width - len(indent))] if width else [text]
    for at, piece in enumerate(pieces):
        shown = styled(piece, style) if style and not err else piece
        click.echo((indent if at else head) + shown, err=err)
