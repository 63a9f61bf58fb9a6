"""Formats the configuration in force to be shown and written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kb.config.keys import KEYS, SCHEMA_VERSION, SECRETS, SECTIONS, Config, SourceConfig, field_of


def items(config: Config) -> list[tuple[str, Any, str]]:
    """Every key with its value and origin, in the order of the sections; a secret value is hidden."""
    return [(key, hidden(value) if key in SECRETS else value, origin) for key, value, origin in _all(config)]


def hidden(value: Any) -> Any:
    """The text shown in place of a secret value; an empty value is shown."""
    if not value:
        return value
    return (f"({len(value)} hidden)",) if isinstance(value, tuple) else "(hidden)"


def _all(config: Config) -> list[tuple[str, Any, str]]:
    return [
        (f"{name}.{key}", getattr(getattr(config, field_of(name)), key), config.origins.get(f"{name}.{key}", "default"))
        for name, section in SECTIONS.items()
        for key in section.KEYS
    ]


def to_toml(config: Config, *, with_origins: bool) -> str:
    """The configuration as TOML, every key present; with a comment wherever a value is not the default."""

    def line(name: str, key: str, value: Any, origin: str) -> str:
        comment = f"  # {origin}" if with_origins and origin != "default" else ""
        return f"{name} = {toml_value(value)}{comment}"

    return _in_sections(items(config), line) + source_tables(config)


def starter_toml(config: Config) -> str:
    """A starter file: values that differ from the defaults are set, every other key is a comment.

    So a default that a later kb changes takes effect for every key that the user did not set.
    """

    def line(name: str, key: str, value: Any, origin: str) -> str:
        if value == KEYS[key].default:
            return f"# {name} = {toml_value(value)}  # {KEYS[key].meaning}"
        return f"{name} = {toml_value(value)}"

    return _in_sections(_all(config), line) + source_tables(config)


def source_tables(config: Config) -> str:
    """The `[[sources]]` tables, each below an empty line; empty without further sources."""
    return "".join(f"\n{source_table(each)}" for each in config.further_sources)


def source_table(source: SourceConfig) -> str:
    """A `[[sources]]` table with the keys whose values are not the defaults, and `ocr`, where it is written."""
    values = {name: (getattr(source, name), key.default) for name, key in SourceConfig.KEYS.items()}
    lines = [
        f"{name} = {toml_value(value)}"
        for name, (value, default) in values.items()
        if value != default or (name == "ocr" and name in vars(source))
    ]
    return "\n".join(["[[sources]]", *lines]) + "\n"


def _in_sections(entries: Iterable[tuple[str, Any, str]], line: Callable[[str, str, Any, str], str]) -> str:
    """A file of these keys with their values and origins, a `line` each, below the names of their sections."""
    lines = [f"schema_version = {SCHEMA_VERSION}"]
    section = ""
    for key, value, origin in entries:
        head, _, name = key.rpartition(".")
        if head != section:
            section = head
            lines += ["", f"[{head}]"]
        lines.append(line(name, key, value, origin))
    return "\n".join(lines) + "\n"


def toml_value(value: Any) -> str:
    """A value in TOML."""
    import json

    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # JSON allows it raw, TOML does not
