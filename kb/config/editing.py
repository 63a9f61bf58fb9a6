"""Edits the `[[sources]]` of a configuration file as text: its comments and everything else stay as they are."""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kb.config.keys import SourceConfig
from kb.config.reading import invalid_file, read_toml
from kb.config.writing import source_table, toml_value
from kb.errors import write_errors
from kb.private import replace_file

_HEADER = re.compile(r"\s*\[\[\s*sources\s*\]\]\s*(?:#.*)?")
_TABLE = re.compile(r"\s*\[")
_NO_CONTENT = re.compile(r"\s*(?:#.*)?")

Tables = list[dict[str, Any]]


def add_source(file: Path, source: SourceConfig) -> None:
    """Adds a table at the end of the file. Raises: ConfigError, StoreReadOnly."""
    table = source_table(source)
    added = tomllib.loads(table)["sources"]
    _edit(file, lambda text: f"{text.rstrip()}\n\n{table}".lstrip(), lambda tables: [*tables, *added])


def remove_source(file: Path, name: str) -> None:
    """Removes the table of that name; comments above it stay. Raises: ConfigError, StoreReadOnly."""

    def without(text: str) -> str:
        lines, (start, end) = text.splitlines(keepends=True), _block(file, text, name)
        return "".join((*lines[:start], *lines[end:]))

    _edit(file, without, lambda tables: [each for each in tables if each.get("name") != name])


def change_source(file: Path, name: str, values: dict[str, str]) -> None:
    """Sets keys that the table of that name has already. Raises: ConfigError, StoreReadOnly."""

    def changed(text: str) -> str:
        lines, (start, end) = text.splitlines(keepends=True), _block(file, text, name)
        for at in range(start, end):
            for key, value in values.items():
                if match := re.match(rf"""(\s*{key}\s*=\s*)("(?:\\.|[^"\\])*"|'[^']*')""", lines[at]):
                    lines[at] = f"{match[1]}{toml_value(value)}{lines[at][match.end() :]}"
        return "".join(lines)

    _edit(file, changed, lambda tables: [each | values if each.get("name") == name else each for each in tables])


def _block(file: Path, text: str, name: str) -> tuple[int, int]:
    """The half-open range of lines of the table of that name, its header first, without comments and blanks behind."""
    lines = text.splitlines()
    headers = [at for at, line in enumerate(lines) if _HEADER.fullmatch(line)]
    names = [each.get("name") for each in read_toml(file).get("sources", [])]
    if len(headers) != len(names) or name not in names:
        raise _by_hand(file)
    start = headers[names.index(name)]
    end = next((at for at in range(start + 1, len(lines)) if _TABLE.match(lines[at])), len(lines))
    while _NO_CONTENT.fullmatch(lines[end - 1]):
        end -= 1
    return start, end


def _edit(file: Path, edit: Callable[[str], str], expected: Callable[[Tables], Tables]) -> None:
    """Writes the edited text, if it says what is expected and nothing else."""
    place = Path(os.path.realpath(file))
    before = read_toml(file)
    tables = expected(before.pop("sources", []))
    wanted = before | ({"sources": tables} if tables else {})
    text = edit(place.read_text(encoding="utf-8"))
    try:
        is_right = tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        is_right = False
    if not is_right:
        raise _by_hand(file)
    with write_errors(file, "edit its [[sources]] by hand"):
        replace_file(place, text.encode(), stat.S_IMODE(place.stat().st_mode))


def _by_hand(file: Path) -> Exception:
    return invalid_file(file, "its sources are written in a way that kb does not edit", "edit its [[sources]] by hand")
