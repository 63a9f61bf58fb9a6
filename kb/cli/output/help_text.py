"""Help as it is laid out: examples keep to the width of the terminal, each with what it does below it where need be."""

from __future__ import annotations

import re

import click

from kb.cli.output.terminal import fold, width_cells

_INDENT = 2

# What an example does stands behind it as a shell's comment, so that the whole line can be pasted; a command is broken
# between its words alone.
_GAP = re.compile(r"(?<=\S) +# ")
_WORDS = re.compile(r"""(?:'[^']*'|"[^"]*"|[^\s'"])+""")


class HelpFormatter(click.HelpFormatter):
    """Click's, which leaves the lines of an epilog of examples as long as they are written."""

    def write_text(self, text: str) -> None:
        r"""Writes paragraphs; one that begins with \b line by line, each folded on its own."""
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
    """An example's line; where it is too long the command, then what it does on lines of its own."""
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
