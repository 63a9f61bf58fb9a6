"""Patterns in gitignore syntax: match as git does, in time linear in pattern × name. The one matcher of kb.

Ignore files and `workspace.exclude` ask folder by folder (`kb.scan.rules`); `workspace.include` and `--path-glob` ask
about whole paths (`PathPatterns`). Why not `pathspec`: docs/design-differences.md.

A naive translation of `*a*a*a*b` tries every way to share a name out among the asterisks. Here each asterisk takes as
little as lets the characters up to the next one match, and that is final (an atomic group): the next one can take what
is left over. So do the folders that `**/` takes. Only what follows the last asterisk and the last `**/`
must reach the end, and so may be tried again.

One difference to git is intended: `?` and `[…]` match one character here, and one byte there.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from kb.domain.kinds import ARCHIVES, MEMBER

_SPECIAL = re.compile(r"[*?\[\\]")

_NOTHING = "(?!)"

# ASCII only and without vertical tab and form feed, as git's `ctype.c` has them.
_POSIX_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": " \\t\\n\\r",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}

_STAR = "*"  # any characters of one segment
_FOLDERS = "**/"  # any number of whole segments
_REST = "**"  # anything at all, at the end
_WHOLE_SEGMENTS = "(?:[^/]*+/)*?"


class MalformedPattern(ValueError):
    """A line that git would let match nothing: a bracket left open, a backslash at the end, a slash alone."""

    def __init__(self, pattern: str) -> None:
        super().__init__(f"malformed pattern {pattern!r}")
        self.pattern = pattern


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line of an ignore file. An `in_names` pattern matches a bare name, any other a path, as a whole (DOTALL).

    `source` says where the line comes from, in the caller's words.
    """

    regex: str
    in_names: bool
    directory_only: bool
    negated: bool
    source: str = ""


def parse_pattern(line: str, source: str = "") -> Pattern | None:
    """Parses one line; None for a comment or an empty line. Raises: MalformedPattern."""
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
    return Pattern(regex, in_names, directory_only, negated, source)


class PathPatterns:
    """Patterns that select files: a path is selected if the last pattern that matches it or a folder above has no `!`.

    A member of an archive, `x.zip!/a.md`, is below the archive.
    """

    __slots__ = ("_regex", "_wanted")

    def __init__(self, lines: Iterable[str]) -> None:
        """Parses the lines. Raises: MalformedPattern."""
        parsed = [parse_pattern(line) for line in lines]
        last_first = [pattern for pattern in reversed(parsed) if pattern is not None]
        # One expression, an alternative a pattern: the first that matches is the last of the list.
        self._regex = re.compile("|".join(f"({_with_what_is_below(each)})" for each in last_first) or "(?!)", re.DOTALL)
        self._wanted = [not each.negated for each in last_first]

    def __bool__(self) -> bool:
        """Whether any line is a pattern, not a comment or empty."""
        return bool(self._wanted)

    def matches(self, *spellings: str) -> bool:
        """Whether the patterns select the file at a path (NFC, relative, with slashes) in any of these spellings."""
        found = [match.lastindex for match in map(self._regex.fullmatch, spellings) if match and match.lastindex]
        return bool(found) and self._wanted[min(found) - 1]


_ENDS = "|".join(rf"(?<=\.{re.escape(end)})" for each in ARCHIVES for end in each.extensions)
_IN_ARCHIVE = f"(?i:{_ENDS}){MEMBER[:-1]}"


def _with_what_is_below(pattern: Pattern) -> str:
    anywhere = "(?:[^/]*+/)*?" if pattern.in_names else ""
    below = "/.+" if pattern.directory_only else f"(?:(?:{_IN_ARCHIVE})?/.*)?"
    return f"{anywhere}{pattern.regex}{below}"


def _without_trailing_spaces(line: str) -> str:
    """`line` without the spaces at its end, unless a backslash keeps them."""
    kept = line.rstrip(" ")
    if len(kept) < len(line) and (len(kept) - len(kept.rstrip("\\"))) % 2:
        kept += " "
    return kept


def wildmatch_regex(pattern: str) -> str | None:
    """`pattern` as a regular expression without capturing groups, for `fullmatch` with `re.DOTALL`.

    `*`, `?` and `[…]` never match a slash; `**` does where it is a whole path segment. None when the pattern
    is malformed, which for git means that it matches nothing.
    """
    special = _SPECIAL.search(pattern)
    if special is None:
        return re.escape(pattern)
    parts = _parts(pattern, special.start())
    if parts is None:
        return None
    groups: list[list[str]] = [[]]
    for part in parts:
        if part == _FOLDERS:
            groups.append([])
        else:
            groups[-1].append(part)
    *earlier, last = groups
    whole = [_settled(group, at > 0) for at, group in enumerate(earlier)]
    return "".join(whole) + (_WHOLE_SEGMENTS if earlier else "") + _up_to_the_end(last)


def _settled(group: list[str], after_folders: bool) -> str:
    """The regex of the parts before a `**/`. It takes the first place that matches, and never another one."""
    body = "".join(_taking_little(piece) for piece in _pieces(group))
    return f"(?>{_WHOLE_SEGMENTS}{body})" if after_folders else body


def _up_to_the_end(group: list[str]) -> str:
    if group and group[-1] == _REST:
        return "".join(_taking_little(piece) for piece in _pieces(group[:-1])) + ".*"
    *earlier, (starred, fixed) = _pieces(group)
    return "".join(map(_taking_little, earlier)) + ("[^/]*" if starred else "") + fixed


def _taking_little(piece: tuple[bool, str]) -> str:
    starred, fixed = piece
    return f"(?>[^/]*?{fixed})" if starred else fixed


def _pieces(group: list[str]) -> list[tuple[bool, str]]:
    """The parts of a pattern between its asterisks, as pairs: does an asterisk come before, and the regex to the next.

    The first pair is the text before the first asterisk, perhaps empty, so the list is never empty.
    """
    found = [(False, "")]
    for part in group:
        if part == _STAR:
            found.append((True, ""))
        else:
            starred, fixed = found[-1]
            found[-1] = (starred, fixed + part)
    return found


def _parts(pattern: str, wild_start: int) -> list[str] | None:
    """Splits a pattern into a regex for each character, and `_STAR`, `_FOLDERS` and `_REST`; None if malformed."""
    # git compares the literal head by itself: a `**` right after it counts as the start of a segment.
    at = wild_start
    parts = [re.escape(char) for char in pattern[:at]]
    while at < len(pattern):
        char = pattern[at]
        if char == "*":
            found, at = _asterisks(pattern, at, wild_start)
            parts += found
            continue
        if char == "?":
            part, at = "[^/]", at + 1
        elif char == "[":
            bracket = _bracket(pattern, at + 1)
            if bracket is None:
                return None
            part, at = bracket
        elif char == "\\":
            if at + 1 == len(pattern):
                return None
            part, at = re.escape(pattern[at + 1]), at + 2
        else:
            part, at = re.escape(char), at + 1
        parts.append(part)
    return parts


def _asterisks(pattern: str, start: int, wild_start: int) -> tuple[tuple[str, ...], int]:
    """Parses the asterisks at `start`; returns their meaning and the position after them."""
    end = start
    while end < len(pattern) and pattern[end] == "*":
        end += 1
    starts_segment = start == wild_start or pattern[start - 1] == "/"
    if end - start < 2 or not starts_segment:
        return (_STAR,), end
    if end == len(pattern):
        return (_REST,), end
    if pattern[end] == "/":
        return (_FOLDERS,), end + 1
    if pattern.startswith("\\/", end):  # git: at least one slash, with anything before it
        return (_STAR, "/", _FOLDERS), end + 2
    return (_STAR,), end


def _bracket(pattern: str, at: int) -> tuple[str, int] | None:
    """The regex of the bracket expression whose inside begins at `at`, and the position after it; None if malformed."""
    negated = pattern[at : at + 1] in ("!", "^")
    if negated:
        at += 1
    members: list[str] = []
    previous = ""  # the character a following `-` would start a range from
    first = True
    while first or pattern[at : at + 1] != "]":
        first = False
        if pattern.startswith("[:", at):
            close = pattern.find("]", at + 2)
            if close == -1:
                return None
            if close > at + 2 and pattern[close - 1] == ":":
                posix_class = _POSIX_CLASSES.get(pattern[at + 2 : close - 1])
                if posix_class is None:
                    return None
                members.append(posix_class)
                previous, at = "", close + 1
                continue
        is_range = bool(previous) and pattern[at : at + 1] == "-" and pattern[at + 1 : at + 2] not in ("", "]")
        char, at = _member(pattern, at + 1 if is_range else at)
        if not char:
            return None
        if is_range:
            members += [f"{re.escape(previous)}-{re.escape(char)}"] if previous <= char else []
            previous = ""
        else:
            members.append(_escaped(char))
            previous = char
    return _one_of("".join(members), negated), at + 1


def _member(pattern: str, at: int) -> tuple[str, int]:
    """The character at `at`, without its escape, and the position after it; "" if the pattern ends there."""
    if pattern[at : at + 1] == "\\":
        at += 1
    return pattern[at : at + 1], at + 1


def _one_of(members: str, negated: bool) -> str:
    if negated:
        return f"[^/{members}]"
    return f"(?!/)[{members}]" if members else _NOTHING


def _escaped(char: str) -> str:
    return "\\" + char if char in "\\]^-[&~|" else char
