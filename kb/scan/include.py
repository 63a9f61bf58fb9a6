"""Which files `workspace.include` asks for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from pathspec import GitIgnoreSpec, RegexPattern

from kb.errors import ConfigError


class IncludePatterns:
    """Patterns in gitignore syntax, read positively: a file is in if the last pattern that matches it has no `!`.

    A pattern that matches a folder takes in everything below it.
    """

    __slots__ = ("_last_first",)

    def __init__(self, patterns: Sequence[str]) -> None:
        """Raises: ConfigError naming a pattern that is malformed."""
        compiled = [each for pattern in patterns for each in _compile(pattern)]
        self._last_first = [
            (pattern.regex.search, bool(pattern.include)) for pattern in reversed(compiled) if pattern.regex is not None
        ]

    def matches(self, path: str) -> bool:
        """Whether the file at the workspace path `path` is asked for; `IMG_1.JPG` is by `*.jpg` too."""
        stem, dot, extension = path.rpartition(".")
        usual = path if extension.islower() else f"{stem}{dot}{extension.lower()}"
        for search, wanted in self._last_first:
            if search(path) or (usual is not path and search(usual)):
                return wanted
        return False


def _compile(pattern: str) -> list[RegexPattern]:
    try:
        spec = GitIgnoreSpec.from_lines([unicodedata.normalize("NFC", pattern)])
    except (ValueError, re.error) as error:
        raise ConfigError(
            f"workspace.include: malformed pattern {pattern!r}", 'patterns are as in .gitignore, e.g. "notes/**/*.md"'
        ) from error
    return [each for each in spec.patterns if isinstance(each, RegexPattern)]
