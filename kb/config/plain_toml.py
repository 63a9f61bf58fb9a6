"""The tables of a TOML file in which each line says one plain thing, as a configuration's lines do.

The library that reads any TOML takes longer to import than such a file to read: a twentieth of a cold search.
"""

from __future__ import annotations

from typing import Any

_MOST_DIGITS = 18  # of a number below 2⁶³


def plain_tables(text: str) -> dict[str, Any] | None:
    """The tables of `text`; None for what has other lines, or would be an error: the library is to be asked.

    Plain are blank lines, comments, headers of bare keys, and `key = value` with a string without escapes, a whole
    number, true or false.
    """
    tables: dict[str, Any] = {}
    table = tables
    headers: set[str] = set()
    for line in text.split("\n"):
        line = line.strip(" \t")
        if not line or (line[0] == "#" and line.isprintable()):
            continue
        if line[0] == "[":
            header = line[1:-1]
            opened = _opened(tables, header) if line[-1] == "]" and header not in headers else None
            if opened is None:
                return None
            table = opened
            headers.add(header)
            continue
        key, equals, written = line.partition("=")
        key, value = key.rstrip(" \t"), _plain_value(written.lstrip(" \t"))
        if not equals or value is None or not _is_bare(key) or key in table:
            return None
        table[key] = value
    return tables


def _opened(tables: dict[str, Any], header: str) -> dict[str, Any] | None:
    """The table of a header, made where it is new; None where it is no table."""
    table = tables
    for name in header.split("."):
        if not _is_bare(name):
            return None
        inner = table.setdefault(name, {})
        if not isinstance(inner, dict):
            return None
        table = inner
    return table


def _is_bare(key: str) -> bool:
    return key.isascii() and key.replace("_", "").replace("-", "").isalnum()


def _plain_value(written: str) -> bool | int | str | None:
    if written in ("true", "false"):
        return written == "true"
    if written.isascii() and written.isdigit():
        return int(written) if len(written) <= _MOST_DIGITS and (written[0] != "0" or written == "0") else None
    inner = written[1:-1]
    if len(written) < 2 or written[0] != '"' or written[-1] != '"' or '"' in inner or "\\" in inner:
        return None
    return inner if inner.isprintable() else None
