"""Which files and folders a walk leaves out or takes, and by which source. Patterns are in gitignore syntax.

Three sources leave files out:

- `.gitignore` and `.kbignore` in any folder: the deepest folder with a matching line decides, and in it the last
  matching line, `.kbignore` after `.gitignore`; `!` cancels a match.
- `workspace.exclude` of the configuration, relative to the root. It adds to the files above: no `!` in a file
  brings back what the configuration leaves out.
- The built-in list, lowest: only a `!` line in a `.kbignore` brings an entry back.

The walk checks every folder before it enters, so a file under an ignored folder is never checked and cannot be brought
back, as in git. Names and patterns are compared in NFC. Source files that `.gitattributes` calls generated or vendored
are left out too. `workspace.include` selects the files to index.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import Literal, NamedTuple

from kb.domain.gitignore import MalformedPattern, PathPatterns, Pattern, parse_pattern
from kb.domain.kinds import KINDS, Kinds, MediaType
from kb.domain.text import WorkspacePath
from kb.errors import ConfigError, FileError
from kb.scan.read import read_bytes

IgnoreSource = Literal["gitignore", "kbignore", "builtin", "config"]
AttributeSource = Literal["generated", "vendored"]

IGNORE_FILES: dict[str, IgnoreSource] = {".gitignore": "gitignore", ".kbignore": "kbignore"}
"""The ignore files of one folder, in the order of their lines."""

ATTRIBUTES_FILE = ".gitattributes"

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
    "~$*",  # locks of Microsoft Office: the user's name, under the extension of the file being edited
)
"""Files that no knowledge base needs: version control, dependencies, caches, build output, editors' own files."""

TEXT = MediaType("code/text")

_ATTRIBUTES: dict[str, AttributeSource] = {"linguist-generated": "generated", "linguist-vendored": "vendored"}
_MAX_IGNORE_FILE_BYTES = 10_000_000
_SHEBANG = re.compile(rb"#![^\n]*?\b(python|bash|sh|zsh|dash|ksh|node|deno|bun)[\d.]*\b")
# A program, and the usual extension of its files.
_EXTENSIONS = {b"python": "py", b"node": "js", b"deno": "ts", b"bun": "ts"}
_HEAD_BYTES = 200
_NAMES_FILES = re.compile(r"[\w\u0080-\uffff]")


def parse_rules(text: str, source: IgnoreSource) -> list[Pattern]:
    """The patterns of an ignore file's `text`, in order; skips comments, blank and malformed lines, as git does."""
    rules: list[Pattern] = []
    for line in text.removeprefix("\ufeff").split("\n"):
        with suppress(MalformedPattern):
            rules += rules_of([line.removesuffix("\r")], source)
    return rules


def rules_of(lines: Iterable[str], source: IgnoreSource) -> list[Pattern]:
    """The patterns of `lines`. Raises: MalformedPattern."""
    return [rule for line in lines if (rule := parse_pattern(line, source)) is not None]


class Level:
    """The rules that one folder adds, compiled: one expression each for names and for paths."""

    __slots__ = ("_directories", "_files", "_skip_chars")

    def __init__(self, rules: Sequence[Pattern], folder: str = "") -> None:
        """`folder` is the workspace path the rules are relative to, empty for the root."""
        self._skip_chars = len(folder) + 1 if folder else 0
        last_first = list(enumerate(rules))[::-1]
        self._files = list(_matchers([each for each in last_first if not each[1].directory_only]))
        self._directories = list(_matchers(last_first))

    def last_match(self, path: str, name: str, is_directory: bool) -> Pattern | None:
        """The deciding rule for the entry called `name` at the workspace path `path`, if any."""
        found = None
        for in_names, regex, rules in self._directories if is_directory else self._files:
            match = regex.fullmatch(name) if in_names else regex.fullmatch(path, self._skip_chars)
            if match is not None and match.lastindex is not None:
                position, rule = rules[match.lastindex - 1]
                if found is None or position > found[0]:
                    found = (position, rule)
        return found[1] if found else None


def _matchers(
    last_first: list[tuple[int, Pattern]],
) -> Iterator[tuple[bool, re.Pattern[str], list[tuple[int, Pattern]]]]:
    """Up to two matchers, each one expression with an alternative per rule, the last rule first so that it wins."""
    for in_names in (True, False):
        numbered = [(position, rule) for position, rule in last_first if rule.in_names is in_names]
        if numbered:
            expression = "|".join(f"({rule.regex})" for _, rule in numbered)
            yield in_names, re.compile(expression, re.DOTALL), numbered


class IgnoreRules:
    """All rules for the entries of one folder. Folders without ignore files share their parent's."""

    __slots__ = ("_builtin", "_config", "_levels")

    def __init__(self, builtin: Level, config: Level, levels: tuple[Level, ...] = ()) -> None:
        self._builtin = builtin
        self._config = config
        self._levels = levels  # deepest first

    @classmethod
    def at_root(cls, exclude: Sequence[str]) -> IgnoreRules:
        """The rules before any ignore file is read. Raises: ConfigError for a malformed pattern of `exclude`."""
        try:
            configured = rules_of(exclude, "config")
        except MalformedPattern as error:
            raise ConfigError(
                f"workspace.exclude: {error}", 'patterns are as in .gitignore, e.g. "drafts/" or "*.tmp.md"'
            ) from error
        return cls(Level(rules_of(BUILTIN_PATTERNS, "builtin")), Level(configured))

    def below(self, rules: Sequence[Pattern], folder: str) -> IgnoreRules:
        """These rules, preceded by those of the ignore files in `folder`."""
        return IgnoreRules(self._builtin, self._config, (Level(rules, folder), *self._levels))

    def source_ignoring(self, path: str, name: str, is_directory: bool) -> str | None:
        """The source that leaves out the entry called `name` at the workspace path `path`; None if it is taken."""
        rule = None
        for level in self._levels:
            rule = level.last_match(path, name, is_directory)
            if rule is not None:
                break
        if rule is not None and not rule.negated:
            return rule.source
        for level in (self._config, self._builtin):
            listed = level.last_match(path, name, is_directory)
            if listed is not None and not listed.negated:
                wanted_back = level is self._builtin and rule is not None and rule.source == "kbignore"
                return None if wanted_back else listed.source
        return None


class Attributes:
    """The `.gitattributes` of a folder and of those above it; the deepest matching line decides, as in git."""

    __slots__ = ("_levels",)

    def __init__(self, levels: tuple[dict[AttributeSource, Level], ...] = ()) -> None:
        self._levels = levels

    def below(self, text: str, folder: str) -> Attributes:
        """These and, before them, the lines of the file in `folder`, a workspace path without its last slash."""
        rules: dict[AttributeSource, list[Pattern]] = {}
        for source, pattern in _attribute_lines(text):
            rules.setdefault(source, []).append(pattern)
        if not rules:
            return self
        level = {source: Level(own, folder) for source, own in rules.items()}
        return Attributes((level, *self._levels))

    def reason(self, path: str, name: str) -> AttributeSource | None:
        """The attribute that leaves out the file called `name` at the workspace path `path`; None without one."""
        for source in _ATTRIBUTES.values() if self._levels else ():
            found = (
                level[source].last_match(path, name, is_directory=False) for level in self._levels if source in level
            )
            rule = next((rule for rule in found if rule is not None), None)
            if rule is not None and not rule.negated:
                return source
        return None


def _attribute_lines(text: str) -> Iterator[tuple[AttributeSource, Pattern]]:
    """The patterns with their attributes; one that unsets an attribute is negated. Macros are ignored."""
    for line in text.removeprefix("\ufeff").splitlines():
        spelled, settings = _pattern_and_settings(line.strip())
        for attribute, source in _ATTRIBUTES.items():
            own = [each for each in settings if each.lstrip("-!").partition("=")[0] == attribute]
            if not own:
                continue
            is_set = own[-1][0] not in "-!" and own[-1].partition("=")[2].lower() in ("", "true", "1")
            with suppress(MalformedPattern):
                pattern = parse_pattern(spelled)
                # In .gitattributes, a folder's attributes are not those of the files in it, and `!` has no meaning.
                if pattern is not None and not pattern.directory_only and not pattern.negated:
                    yield source, Pattern(pattern.regex, pattern.in_names, False, not is_set)


def _pattern_and_settings(line: str) -> tuple[str, Sequence[str]]:
    if line.startswith('"') and (end := line.find('"', 1)) > 0:
        return line[1:end], line[end + 1 :].split()
    pattern, *settings = line.split() or [""]
    return ("" if pattern.startswith("[attr]") else pattern), settings


class Folder(NamedTuple):
    """A visited folder: its real path; its workspace path and a slash, empty for the root; its rules.

    `attributes`: the `.gitattributes` for its files.
    """

    source: str
    prefix: str
    rules: IgnoreRules
    behind_link: bool
    attributes: Attributes = Attributes()


def with_own_rules(folder: Folder, names: AbstractSet[str]) -> tuple[list[tuple[WorkspacePath, FileError]], Folder]:
    """The unreadable ignore files among a folder's `names`, and `folder` with the rules of the others."""
    failures: list[tuple[WorkspacePath, FileError]] = []
    rules: list[Pattern] = []
    for name in (*IGNORE_FILES, ATTRIBUTES_FILE):
        if name not in names:
            continue
        try:
            content = read_bytes(os.path.join(folder.source, name), max_bytes=_MAX_IGNORE_FILE_BYTES)
        except FileError as error:
            failures.append((WorkspacePath(folder.prefix + name), error))
            continue
        text = content.data.decode("utf-8", "surrogateescape")
        if name == ATTRIBUTES_FILE:
            folder = folder._replace(attributes=folder.attributes.below(text, folder.prefix[:-1]))
        else:
            rules += parse_rules(text, IGNORE_FILES[name])
    if rules:
        folder = folder._replace(rules=folder.rules.below(rules, folder.prefix[:-1]))
    return failures, folder


def ignore_files_in(source: str) -> set[str]:
    """The names of the ignore files in the folder at a real path."""
    return {name for name in (*IGNORE_FILES, ATTRIBUTES_FILE) if os.path.exists(os.path.join(source, name))}


class Included:
    """The files that `workspace.include` selects: a file is selected if the last pattern that matches it has no `!`.

    A pattern that matches a folder selects everything below it.
    """

    def __init__(self, patterns: Sequence[str], kinds: Kinds = KINDS) -> None:
        """Raises: ConfigError naming a pattern that is malformed."""
        try:
            self._patterns = PathPatterns(patterns)
            # The last part of these is more than a wildcard: `*.txt`, not `notes/**`.
            named = [each for each in patterns if _NAMES_FILES.search(each.rstrip().rpartition("/")[2])]
            self._named = Level(rules_of(named, "config"))
        except MalformedPattern as error:
            raise ConfigError(
                f"workspace.include: {error}", 'patterns are as in .gitignore, e.g. "notes/**/*.md"'
            ) from error
        self.kinds = kinds

    def matches(self, path: str) -> bool:
        """Whether the file at the workspace path `path` is selected; `*.jpg` selects `IMG_1.JPG` too."""
        stem, dot, extension = path.rpartition(".")
        if not dot or extension.islower() or "/" in extension:
            return self._patterns.matches(path)
        return self._patterns.matches(path, f"{stem}{dot}{extension.lower()}")

    def names(self, path: str) -> bool:
        """Whether a pattern selects the file at the workspace path `path` by more than its folder."""
        named = self._named.last_match(path, path.rpartition("/")[2], is_directory=False)
        return named is not None and not named.negated

    def text_type(self, folder: str, name: str, source: str, *, is_executable: Callable[[], bool]) -> MediaType | None:
        """The media type of the file called `name` at `source`, if its name gives none; `folder` ends with a slash.

        A file that a pattern of `workspace.include` matches by more than its folder is text. An executable file without
        an extension has the type in its first line, if source files of that type are selected. Hidden files have none.
        """
        if name.startswith("."):
            return None
        if self.names(folder + name):
            return TEXT
        if "." in name or not is_executable():
            return None
        try:
            with open(source, "rb") as file:
                match = _SHEBANG.match(file.read(_HEAD_BYTES))
        except OSError:
            return None
        if match is None:
            return None
        usual = f"{name}.{_EXTENSIONS.get(match[1], 'sh')}"
        return self.kinds.media_type_of(usual) if self.matches(folder + usual) else None
