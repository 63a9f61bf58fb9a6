"""Prints JSON, and text folded at spaces on a terminal, in colours readable on light and dark backgrounds."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, TypeAlias, TypeVar

import click

from kb.cli.output.terminal import as_utf8, columns, fold, link, use_color, width_cells, with_code
from kb.domain.text import plain

Style: TypeAlias = dict[str, Any]
Row = TypeVar("Row")

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
    """`text` in that style if standard output shows colours."""
    return click.style(text, **style) if use_color() else text


def echo_folded(
    text: str, *, head: str = "", err: bool = False, style: Style | None = None, links_to: str | None = None
) -> None:
    """Prints one line: `head`, then `text`, on a terminal folded at spaces and indented below where it begins.

    With `links_to` every piece of the text is a link to that file.
    """
    for before, piece in folded(text, head, err=err):
        shown = styled(piece, style) if style and not err else piece
        click.echo(before + (link(shown, links_to) if links_to and shown else shown), err=err)


def folded(text: str, head: str, *, err: bool = False) -> Iterator[tuple[str, str]]:
    """The lines that `echo_folded` prints: what is before the text, and the piece of the text."""
    stream = sys.stderr if err else sys.stdout
    width = columns() if stream.isatty() else 0
    indent = " " * width_cells(click.unstyle(head))
    if 0 < width < min(len(indent) + _LEAST_CELLS, len(indent) + width_cells(text)):
        bare = click.unstyle(head).rstrip()
        for start, end in fold(bare, width):
            yield bare[start:end] if width_cells(bare) > width else head.rstrip(), ""
        head = indent = " " * _INDENT_CELLS
    pieces = [text[start:end] for start, end in fold(text, width - len(indent))] if width else [text]
    for at, piece in enumerate(pieces):
        yield indent if at else head, piece


def echo_text(text: str) -> None:
    """Prints a text, on a terminal folded at spaces; its code keeps its lines."""
    for line, is_code in with_code(plain(text).splitlines()):
        if is_code:
            click.echo(line)
        else:
            echo_folded(line)


def echo_styled(parts: Iterable[tuple[str, Style]]) -> None:
    """Prints a text whose parts have a style each, on a terminal folded at spaces; its code keeps its lines."""
    text, ranges = "", list[tuple[int, int, Style]]()
    for part, style in parts:
        ranges.append((len(text), len(text) + len(part), style))
        text += plain(part)
    width = columns() if sys.stdout.isatty() else 0
    begin = 0
    for line, is_code in with_code(text.split("\n")):
        for start, end in fold(line, width) if width and not is_code else [(0, len(line))]:
            first, last = begin + start, begin + end
            cut = ((text[max(a, first) : min(b, last)], style) for a, b, style in ranges if a < last and b > first)
            click.echo("".join(styled(part, style) for part, style in cut))
        begin += len(line) + 1


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


def echo_fields(rows: Iterable[tuple[str, str]], *, indent: str = "") -> None:
    """Prints one name and value per line, the values aligned."""
    named = list(rows)
    widest = max((width_cells(name) for name, _ in named), default=0)
    for name, value in named:
        echo_folded(value, head=f"{indent}{name}{' ' * (widest - width_cells(name))}  ")


def print_json(value: object) -> None:
    """Writes the wire form of one value on one line."""
    as_utf8(sys.stdout).write(json_line(value) + "\n")
    sys.stdout.flush()


def print_json_with_list(value: object, items: Iterable[object]) -> None:
    """Writes the wire form of `value` with `items`, which may be many, one at a time in place of its last field."""
    as_utf8(sys.stdout).write(json_line(value).removesuffix("null}") + "[")
    for position, item in enumerate(items):
        sys.stdout.write(f",{json_line(item)}" if position else json_line(item))
    sys.stdout.write("]}\n")
    sys.stdout.flush()


def json_line(value: object) -> str:
    """The wire form of `value` as JSON without a line end in it."""
    from kb.wire.derive import to_wire

    text = json.dumps(to_wire(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # A lone surrogate, from an argument that is no UTF-8, goes out as JSON's own escape of it.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def echo_result(value: Row, as_json: bool, echo: Callable[[Row], object]) -> None:
    """Prints one value, by `echo` or as a line of JSON."""
    (print_json if as_json else echo)(value)


def echo_rows(rows: Iterable[Row], as_json: bool, echo: Callable[[Row], object], none: str = "") -> int:
    """Prints each row, by `echo` or as a line of JSON. Without rows: prints `none` on stderr, exit code 1."""
    has_rows = False
    for row in rows:
        has_rows = True
        (print_json if as_json else echo)(row)
    if none and not as_json and not has_rows:
        echo_folded(none, err=True)
    return 0 if has_rows else 1


def echo_table(rows: Sequence[Sequence[str]], *, indent: str = "") -> None:
    """Prints rows with aligned columns, figures to the right; the first row is the head."""
    widths = [max(map(width_cells, column)) for column in zip(*rows, strict=True)]
    numeric = [all(map(_is_figure, column)) for column in zip(*rows[1:], strict=True)] or [False] * len(widths)
    for row in rows:
        cells = []
        for cell, width, right in zip(row, widths, numeric, strict=True):
            space = " " * (width - width_cells(cell))
            cells.append(space + cell if right else cell + space)
        click.echo(f"{indent}{'  '.join(cells)}".rstrip())


def _is_figure(cell: str) -> bool:
    return bool(cell) and all(char in "0123456789.+-–−[],< " for char in cell)


def size_mb(byte_len: int) -> str:
    """A size in megabytes, e.g. `12.3 MB`."""
    return f"{byte_len / 1e6:,.1f} MB"


def local_time(stored: str) -> str:
    """A stored time (RFC 3339) in the local time zone, e.g. `2026-04-28 00:42 +09:00`."""
    local = datetime.fromisoformat(stored).astimezone().isoformat(" ", "minutes")
    return f"{local[:16]} {local[16:]}"


def confirmed(question: str) -> bool:
    """Asks the question; whether the answer is y or yes."""
    click.echo(f"{question} [y/N] ", nl=False)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
