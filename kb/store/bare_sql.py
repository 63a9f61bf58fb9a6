"""A statement reduced to what SQLite acts on: two texts that differ in comments or line breaks are the same one."""

from __future__ import annotations

import re

# A quoted text, a comment, or white space; quotes first, because "--" and blanks inside them mean something.
_TOKEN = re.compile(
    r"""('(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\])|(?:--[^\n]*|/\*.*?(?:\*/|\Z)|\s)+""", re.DOTALL
)


def bare_sql(text: str) -> str:
    """`text` without comments, each run of white space one blank."""
    return _TOKEN.sub(lambda match: match[1] or " ", text).strip()
