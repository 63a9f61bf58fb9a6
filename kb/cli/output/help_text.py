"""The layout of help: examples fit the width of the terminal; a remark goes below an example that is too long."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import click

from kb.cli.output.terminal import fold, width_cells

_INDENT = 2

# An example ends with its remark as a shell's comment, so that the whole line can be pasted; a command is broken
# between its words alone.
_GAP = re.compile(r"(?<=\S) +# ")
_WORDS = re.compile(r"""(?:'[^']*'|"[^"]*"|[^\s'"])+""")

# The parameters of the options that choose the output and its form.
_OUTPUT = frozenset(
    ("as_json", "cursor", "explain", "files", "form", "max_tokens", "snippet_chars", "stream", "summary_only", "trace")
)


def headings(ctx: click.Context) -> Mapping[str, str]:
    """The heading of each option of a command that takes filters, by its name in the help; the others are `Options`."""
    from kb.domain.filters import OPTIONS

    taken = {param.name for param in ctx.command.params}
    code_filters = {each.field for each in OPTIONS if each.of_code}
    filters = taken & {"path", *(each.field for each in OPTIONS)} if "lang" in taken else set()
    found: dict[str, str] = {}
    for param in ctx.command.params if filters else ():
        record = param.get_help_record(ctx)
        if record is not None and param.name in {*filters, *_OUTPUT}:
            of_code = "Filters for code" if param.name in code_filters else "Filters"
            found[record[0]] = of_code if param.name in filters else "Output"
    return found


class HelpFormatter(click.HelpFormatter):
    """Click's formatter with options under `headings`; the example lines of an epilog are not wrapped."""

    def __init__(self, *, headings: Mapping[str, str], **settings: Any) -> None:
        super().__init__(**settings)
        self._headings = headings

    def write_dl(self, rows: Iterable[tuple[str, str]], *args: Any, **settings: Any) -> None:
        """Writes a list of options: first those without a heading, then each heading with its own."""
        groups: dict[str, list[tuple[str, str]]] = {"": []}
        for row in rows:
            groups.setdefault(self._headings.get(row[0], ""), []).append(row)
        super().write_dl(groups.pop(""), *args, **settings)
        self.dedent()
        for heading, listed in groups.items():
            with self.section(heading):
                super().write_dl(listed, *args, **settings)
        self.indent()

    def write_text(self, text: str) -> None:
        r"""Writes paragraphs; a paragraph that begins with \b line by line, each line folded separately."""
        room = max(self.width - self.current_indent, 1)
        for number, paragraph in enumerate(text.split("\n\n")):
            if number:
                self.write("\n")
            if not paragraph.startswith("\b\n"):
                super().write_text(paragraph)
                continue
            for line in paragraph.removeprefix("\b\n").splitlines():
                for piece in _fitted(line, room):
                    self.write(f"{' ' * self.current_indent}{piece}".rstrip() + "\n")


def _fitted(line: str, room: int) -> list[str]:
    """The line of an example; where it is too long, the command, then its remark on separate lines."""
    if width_cells(line) <= room:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()))
    command, *said = _GAP.split(line.strip(), maxsplit=1)
    pieces = _command_lines(command, indent, room)
    for each in said:
        below = indent + " " * 2 * _INDENT + "# "
        pieces += [below + each[start:end] for start, end in fold(each, room - len(below))]
    return pieces


def _command_lines(command: str, indent: str, room: int) -> list[str]:
    """A command that can be copied whole: broken between words, with the shell's sign that it goes on."""
    if width_cells(indent + command) <= room or not command.startswith("kb "):
        return [indent + command]
    lines = [indent]
    for word in _WORDS.findall(command):
        longer = f"{lines[-1]}{word}"
        if lines[-1].strip() and width_cells(f"{longer} \\") > room:
            lines[-1] += "\\"
            longer = f"{indent}{' ' * _INDENT}{word}"
            lines.append("")
        lines[-1] = f"{longer} "
    return [line.rstrip() for line in lines]
