"""Changes single keys of a configuration file's text; everything else in it stays as it was written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kb.config.showing import toml_value

_HEADER = re.compile(r"\s*\[(?P<section>[^\[\]]+)\]\s*(#.*)?$")


def with_values(text: str, values: Mapping[str, Any]) -> str:
    """The TOML `text` with these keys (`section.key`) set: replaced where they are, else added to their section."""
    lines = text.splitlines()
    for key, value in values.items():
        section, _, name = key.rpartition(".")
        _set(lines, section, name, f"{name} = {toml_value(value)}")
    return "\n".join(lines) + "\n"


def _set(lines: list[str], section: str, name: str, line: str) -> None:
    headers = {match["section"].strip(): at for at, text in enumerate(lines) if (match := _HEADER.match(text))}
    if section not in headers:
        lines += ["", f"[{section}]", line]
        return
    start = headers[section] + 1
    end = min((at for at in headers.values() if at >= start), default=len(lines))
    for at in range(start, end):
        if re.match(rf"\s*{re.escape(name)}\s*=", lines[at]):
            comment = re.search(r"\s+#[^\"']*$", lines[at])
            lines[at] = line + (comment[0] if comment else "")
            return
    lines.insert(start, line)
