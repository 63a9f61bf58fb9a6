"""Which files and folders a walk leaves out, and which source said so.

Three sources, each in gitignore syntax:

- `.gitignore` and `.kbignore` in any folder: the deepest folder with a matching line decides, in it the last
  matching line, `.kbignore` after `.gitignore`; `!` takes a match back.
- `workspace.exclude` of the configuration, relative to the root. It adds to the files above: no `!` in a file
  brings back what the configuration leaves out.
- The built-in list, lowest: a `!` line in a `.kbignore`, and nothing else, brings an entry back.

The walk asks about every folder before it enters, so a file under an ignored folder is never asked about and
cannot be brought back, as in git. Names and patterns are compared in NFC.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from kb.domain.ingest.gitignore import MalformedPattern, Pattern, parse_pattern
from kb.errors import ConfigError

IgnoreSource = Literal["gitignore", "kbignore", "builtin", "config"]

RuleSource = IgnoreSource | Literal["generated", "vendored"]
"""What made a rule: an ignore file, or what `.gitattributes` calls files."""

IGNORE_FILES: dict[str, IgnoreSource] = {".gitignore": "gitignore", ".kbignore": "kbignore"}
"""The ignore files of one folder, in the order in which their lines count."""

BUILTIN_PATTERNS = (
    ".git/",
    ".hg/",
    ".svn/",
    ".obsidian/",
    ".trash/",
    "node_modules/",
    "__pycache__/",
    ".venv/",
    ".tox/",
    ".mypy_cache/",
    ".pytest_cache/",
    "target/",
    "._*",  # macOS resource forks: binary, with the name and extension of the file they belong to
    ".#*",  # Emacs locks: dangling links named like the file being edited
)
"""What no knowledge base wants: version control, dependencies, caches, build output, editors' own files."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of one source."""

    pattern: Pattern
    source: RuleSource


def parse_rules(text: str, source: IgnoreSource) -> list[Rule]:
    """The rules of an ignore file's `text`, in its order; comments, blank and malformed lines have none, as in git."""
    lines = (line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n"))
    rules = []
    for line in lines:
        with suppress(MalformedPattern):
            rules += _rules_of(line, source)
    return rules


def rules_of(patterns: Iterable[str], source: IgnoreSource) -> list[Rule]:
    """The rules of gitignore `patterns`, one per line. Raises: MalformedPattern."""
    return [rule for pattern in patterns for rule in _rules_of(pattern, source)]


def _rules_of(line: str, source: IgnoreSource) -> list[Rule]:
    pattern = parse_pattern(line)
    return [] if pattern is None else [Rule(pattern, source)]


class Level:
    """The rules that one folder adds, compiled: one expression each for names and for paths."""

    __slots__ = ("_directories", "_files", "_skip_chars")

    def __init__(self, rules: Sequence[Rule], folder: str = "") -> None:
        """`folder` is the workspace path the rules are relative to, empty for the root."""
        self._skip_chars = len(folder) + 1 if folder else 0
        self._files = _compile([rule for rule in rules if not rule.pattern.directory_only])
        self._directories = _compile(rules)

    def last_match(self, path: str, name: str, is_directory: bool) -> Rule | None:
        """The rule that decides about the entry called `name` at the workspace path `path`, if any does."""
        found = None
        for in_names, regex, rules in self._directories if is_directory else self._files:
            match = regex.fullmatch(name) if in_names else regex.fullmatch(path, self._skip_chars)
            if match is not None and match.lastindex is not None:
                position, rule = rules[match.lastindex - 1]
                if found is None or position > found[0]:
                    found = (position, rule)
        return found[1] if found else None


_Matcher = tuple[bool, re.Pattern[str], list[tuple[int, Rule]]]


def _compile(rules: Sequence[Rule]) -> list[_Matcher]:
    """Up to two matchers: one expression an alternative a rule, the last rule first, so that it wins."""
    return list(_matchers(list(enumerate(rules))[::-1]))


def _matchers(last_first: list[tuple[int, Rule]]) -> Iterator[_Matcher]:
    for in_names in (True, False):
        numbered = [(position, rule) for position, rule in last_first if rule.pattern.in_names is in_names]
        if numbered:
            expression = "|".join(f"({rule.pattern.regex})" for _, rule in numbered)
            yield in_names, re.compile(expression, re.DOTALL), numbered


class IgnoreRules:
    """Everything that decides about the entries of one folder. Folders without ignore files share their parent's."""

    __slots__ = ("_builtin", "_config", "_levels")

    def __init__(self, builtin: Level, config: Level, levels: tuple[Level, ...] = ()) -> None:
        self._builtin = builtin
        self._config = config
        self._levels = levels  # deepest first

    @classmethod
    def at_root(cls, exclude: Sequence[str]) -> IgnoreRules:
        """The rules that hold before any ignore file is read.

        Raises: ConfigError naming a pattern of `exclude` that is malformed.
        """
        try:
            configured = rules_of(exclude, "config")
        except MalformedPattern as error:
            raise ConfigError(
                f"workspace.exclude: {error}", 'patterns are as in .gitignore, e.g. "drafts/" or "*.tmp.md"'
            ) from error
        return cls(Level(rules_of(BUILTIN_PATTERNS, "builtin")), Level(configured))

    def below(self, rules: Sequence[Rule], folder: str) -> IgnoreRules:
        """These rules and, before them, those of the ignore files in `folder`."""
        return IgnoreRules(self._builtin, self._config, (Level(rules, folder), *self._levels))

    def source_ignoring(self, path: str, name: str, is_directory: bool) -> RuleSource | None:
        """Which source leaves out the entry called `name` at the workspace path `path`; None if it is wanted."""
        rule = None
        for level in self._levels:
            rule = level.last_match(path, name, is_directory)
            if rule is not None:
                break
        if rule is not None and not rule.pattern.negated:
            return rule.source
        for level in (self._config, self._builtin):
            listed = level.last_match(path, name, is_directory)
            if listed is not None and not listed.pattern.negated:
                wanted_back = level is self._builtin and rule is not None and rule.source == "kbignore"
                return None if wanted_back else listed.source
        return None
