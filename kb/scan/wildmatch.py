"""Ignore patterns as regular expressions, matching what git's own `wildmatch.c` matches.

Open this when a pattern line means something else to kb than to git. pathspec, which kb uses for every other
glob, answers "is this path or a folder above it matched"; a directory walk asks about one name at a time, and
git drops or reads otherwise a few patterns that pathspec keeps (`[x\\]`, `[a-9]`, `[[:alpha:]]`, `foo**/bar`).

One difference is meant: `?` and `[…]` stand for one character here; git counts bytes, three for a Hangul syllable.
"""

from __future__ import annotations

import re

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


def wildmatch_regex(pattern: str) -> str | None:
    """`pattern` as a regular expression without capturing groups, for `fullmatch` with `re.DOTALL`.

    `*`, `?` and `[…]` never match a slash; `**` does where it is a whole path segment. None when the pattern
    is malformed, which for git means that it matches nothing.
    """
    special = _SPECIAL.search(pattern)
    if special is None:
        return re.escape(pattern)
    # git compares the literal head by itself: a `**` right after it counts as the start of a segment.
    wild_start = at = special.start()
    parts = [re.escape(pattern[:at])]
    while at < len(pattern):
        char = pattern[at]
        if char == "*":
            part, at = _asterisks(pattern, at, wild_start)
        elif char == "?":
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
    return "".join(parts)


def _asterisks(pattern: str, start: int, wild_start: int) -> tuple[str, int]:
    """The expression of the asterisks at `start`, and the position after what it covers."""
    end = start
    while end < len(pattern) and pattern[end] == "*":
        end += 1
    starts_segment = start == wild_start or pattern[start - 1] == "/"
    ends_segment = end == len(pattern) or pattern[end] == "/" or pattern.startswith("\\/", end)
    if end - start < 2 or not (starts_segment and ends_segment):
        return "[^/]*", end
    if pattern.startswith("/", end):
        return "(?:.*/)?", end + 1
    return ".*", end


def _bracket(pattern: str, at: int) -> tuple[str, int] | None:
    """The expression of the bracket whose inside begins at `at`, and the position after it; None if malformed."""
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
    """The (perhaps escaped) character at `at` and the position after it; an empty one where the pattern ends."""
    if pattern[at : at + 1] == "\\":
        at += 1
    return pattern[at : at + 1], at + 1


def _one_of(members: str, negated: bool) -> str:
    if negated:
        return f"[^/{members}]"
    return f"(?!/)[{members}]" if members else _NOTHING


def _escaped(char: str) -> str:
    return "\\" + char if char in "\\]^-[&~|" else char
