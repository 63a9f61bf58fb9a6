"""Paths as a user writes them: `~`, `$VAR`, `${VAR}` and `${VAR:-default}`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from kb.errors import ConfigError


def expand_variables(text: str, env: Mapping[str, str] | None = None) -> str:
    """`text` with a leading `~`, `$VAR`, `${VAR}` and `${VAR:-default}` replaced, as a shell would.

    Raises: ConfigError for a variable that is not set and has no default.
    """
    env = os.environ if env is None else env

    def value(match: re.Match[str]) -> str:
        name = match["plain"] or match["braced"]
        found = env.get(name, "")
        if found or match["default"] is not None:
            return found or match["default"]
        raise ConfigError(f"the environment variable {name} in {text!r} is not set", f"set it, or write ${{{name}:-…}}")

    if "$" in text:
        names = r"\$(?:(?P<plain>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)(?::-(?P<default>[^}]*))?\})"
        text = re.sub(names, value, text)
    if text == "~" or text.startswith("~/"):
        home = env.get("HOME")
        return (home + text[1:]) if home else os.path.expanduser(text)
    return text
