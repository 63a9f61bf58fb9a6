"""Source text to HTML in which keywords, strings and comments are told apart by class, a line at a time."""

from __future__ import annotations

import html
from functools import lru_cache
from typing import Any

# Colours are a convenience; text of more characters is shown without, for the time they would take.
MAX_CHARS = 400_000


def highlighted_lines(source: str, language: str | None) -> list[str]:
    """Each line of `source` as HTML: `<span class="…">` around what Pygments tells apart, all else escaped."""
    lines = source.split("\n")
    lexer = _lexer(language.lower()) if language and len(source) <= MAX_CHARS else None
    if lexer is not None:
        from pygments import highlight  # half of what kb reads is no source
        from pygments.formatters import HtmlFormatter

        found = highlight(source, lexer, HtmlFormatter(nowrap=True)).split("\n")
        if len(found) == len(lines) + 1:
            found.pop()  # the formatter ends the last line
        if len(found) == len(lines):
            return list(found)
    return [html.escape(line) for line in lines]


@lru_cache(maxsize=64)
def _lexer(language: str) -> Any:
    """Pygments' lexer of that name, which keeps every line; None where it has none."""
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(_NAMES.get(language, language), stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


# What kb and people call a language, where Pygments calls it otherwise.
_NAMES = {"dockerfile": "docker", "gomod": "text", "tsx": "tsx", "gradle": "groovy", "make": "makefile"}
