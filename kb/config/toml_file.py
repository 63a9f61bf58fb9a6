"""Reads a TOML file of a configuration's size and shape; whatever else is in it is refused at little cost."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from kb.errors import ConfigError

MAX_BYTES = 1_000_000
MAX_KEY_PARTS = 16

# What is no key: comments and strings of each kind, also such as do not end.
_QUOTED = (
    r'"""(?:\\.|[^\\])*?(?:"""|\Z)'
    r"|'''.*?(?:'''|\Z)"
    r'|"(?:\\.|[^"\\\n])*"?'
    r"|'[^'\n]*'?"
    r"|#[^\n]*"
)
_LONG_KEY = rf"(?<![\w.-])(?:[\w-]+[ \t]*\.[ \t]*){{{MAX_KEY_PARTS}}}"


def read_toml(file: Path) -> dict[str, Any]:
    """The tables of a TOML file.

    Raises: ConfigError for what is not TOML, is longer than a megabyte, has a key of more than 16 parts (the parser's
    time and memory grow with the square of them), or a number beyond 64 bits.
    """
    try:
        text = _text(file)
        if _has_long_key(text):
            raise _too_deep(file)
        table = tomllib.loads(text)
        if _has_huge_number(table):
            raise invalid_file(file, "a number beyond 64 bits", "TOML has none so large; write a smaller one")
    except ValueError as error:  # no TOML, no UTF-8, or a decimal number of thousands of digits
        raise invalid_file(file, str(error), "check the TOML syntax near that line") from error
    except RecursionError as error:
        raise _too_deep(file) from error
    except OSError as error:
        hint = "make the file readable, or name another with --config"
        raise invalid_file(file, error.strerror or str(error), hint) from error
    return table


def _has_long_key(text: str) -> bool:
    if not any(line.count(".") >= MAX_KEY_PARTS for line in text.split("\n")):
        return False  # a key stands on one line
    return re.search(_LONG_KEY, re.sub(_QUOTED, "q", text, flags=re.DOTALL)) is not None


def _text(file: Path) -> str:
    with file.open("rb") as opened:
        content = opened.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise invalid_file(file, f"longer than {MAX_BYTES:,} bytes", "name a configuration file with --config")
    return content.decode().removeprefix("\ufeff").replace("\r\n", "\n")


def invalid_file(file: Path, why: str, hint: str) -> ConfigError:
    """The error that a file of settings is refused with; programs get its path."""
    return ConfigError(f"{file}: {why}", hint, details={"path": str(file)})


def _too_deep(file: Path) -> ConfigError:
    return invalid_file(file, "nested too deeply", "sections and lists are all that a configuration has")


def _has_huge_number(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_has_huge_number, value.values()))
    if isinstance(value, list):
        return any(map(_has_huge_number, value))
    return isinstance(value, int) and value.bit_length() > 63
