"""Which files `workspace.include` asks for."""

from __future__ import annotations

from collections.abc import Sequence

from kb.domain.ingest.gitignore import MalformedPattern, PathPatterns
from kb.errors import ConfigError


class IncludePatterns:
    """Patterns in gitignore syntax, read positively: a file is in if the last pattern that matches it has no `!`.

    A pattern that matches a folder takes in everything below it.
    """

    __slots__ = ("_patterns",)

    def __init__(self, patterns: Sequence[str]) -> None:
        """Raises: ConfigError naming a pattern that is malformed."""
        try:
            self._patterns = PathPatterns(patterns)
        except MalformedPattern as error:
            raise ConfigError(
                f"workspace.include: {error}", 'patterns are as in .gitignore, e.g. "notes/**/*.md"'
            ) from error

    def matches(self, path: str) -> bool:
        """Whether the file at the workspace path `path` is asked for; `IMG_1.JPG` is by `*.jpg` too."""
        stem, dot, extension = path.rpartition(".")
        if not dot or extension.islower() or "/" in extension:
            return self._patterns.matches(path)
        return self._patterns.matches(path, f"{stem}{dot}{extension.lower()}")
