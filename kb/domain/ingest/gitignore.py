"""Patterns in gitignore syntax: one line read, and a list of them asked about a path. The one matcher of kb.

Ignore files and `workspace.exclude` ask folder by folder (`kb.scan.ignore`); `workspace.include` and `--path-glob` ask
about whole paths (`PathPatterns`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from kb.domain.ingest.wildmatch import wildmatch_regex


class MalformedPattern(ValueError):
    """A line that git would let match nothing: a bracket left open, a backslash at the end, a slash alone."""

    def __init__(self, pattern: str) -> None:
        super().__init__(f"malformed pattern {pattern!r}")
        self.pattern = pattern


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line. `in_names` patterns match a bare name, the others a path; `regex` is for `fullmatch` with DOTALL."""

    regex: str
    in_names: bool
    directory_only: bool
    negated: bool


def parse_pattern(line: str) -> Pattern | None:
    """What a line means; None for a comment or an empty one. Raises: MalformedPattern."""
    pattern = unicodedata.normalize("NFC", _without_trailing_spaces(line.partition("\0")[0]))
    if not pattern or pattern[0] == "#":
        return None
    negated = pattern.startswith("!")
    pattern = pattern[negated:]
    directory_only = pattern.endswith("/")
    pattern = pattern[: len(pattern) - directory_only]
    in_names = "/" not in pattern
    regex = wildmatch_regex(pattern.removeprefix("/"))
    if regex is None or not pattern:
        raise MalformedPattern(line)
    return Pattern(regex, in_names, directory_only, negated)


class PathPatterns:
    """Patterns read positively: a path is in if the last pattern that matches it, or a folder above it, has no `!`."""

    __slots__ = ("_regex", "_wanted")

    def __init__(self, lines: Iterable[str]) -> None:
        """Raises: MalformedPattern."""
        parsed = [parse_pattern(line) for line in lines]
        last_first = [pattern for pattern in reversed(parsed) if pattern is not None]
        # One expression, an alternative a pattern: the first that matches is the last of the list.
        self._regex = re.compile("|".join(f"({_with_what_is_below(each)})" for each in last_first) or "(?!)", re.DOTALL)
        self._wanted = [not each.negated for each in last_first]

    def __bool__(self) -> bool:
        """Whether there is any pattern beside comments and empty lines."""
        return bool(self._wanted)

    def matches(self, *spellings: str) -> bool:
        """Whether the file at a path (NFC, relative, with slashes), given in one spelling or several, is in."""
        found = [match.lastindex for match in map(self._regex.fullmatch, spellings) if match and match.lastindex]
        return bool(found) and self._wanted[min(found) - 1]


def _with_what_is_below(pattern: Pattern) -> str:
    anywhere = "(?:[^/]*+/)*?" if pattern.in_names else ""
    below = "/.+" if pattern.directory_only else "(?:/.*)?"
    return f"{anywhere}{pattern.regex}{below}"


def _without_trailing_spaces(line: str) -> str:
    """`line` without the spaces at its end, unless a backslash keeps them."""
    kept = line.rstrip(" ")
    if len(kept) < len(line) and (len(kept) - len(kept.rstrip("\\"))) % 2:
        kept += " "
    return kept
