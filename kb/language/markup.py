"""Removes markup from a note's text: targets of links, embeds, block ids, callouts, tags.

`without_markup` keeps the words that a reader sees, to detect the language of a text. Three functions replace markup by
spaces, so that a range of the result is a range of the text:

    without_components   lines of only MDX and Svelte syntax (components, `import`, `export`, `{#if …}`)
    without_tags         the same anywhere in a line, and tags and comments
    masked               the same, and embeds, block ids, callout marks, and lines of nothing but links

None of them changes code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_FENCED = r"^[ \t>]*(?P<fence>`{3,}|~{3,}).*?(?:^[ \t>]*(?P=fence)|\Z)"
# An attribute in braces may hold an arrow function: `onClick={() => close()}`.
_TAG = (
    r"<br\s*/?>|</[a-zA-Z][^<>]*>|</?>"
    r"|(?<!\w)<(?!https?:)[a-zA-Z](?:[^<>=]|=>?)*>"
)
COMMENT = r"<!--.*?(?:-->|\Z)|%%[^%\n]*%%"
_EMBED = r"!\[\[[^\[\]\n]*\]\]|!\[[^\[\]\n]*\]\([^()\n]*\)"
_BLOCK_ID = r"(?:(?<=\s)|^)\^[A-Za-z0-9-]+[ \t]*$"
_CALLOUT = r"(?<=>)[ \t]*\[![^\[\]\n]+\][+-]?"
_MATH = r"\$\$.*?\$\$"

# Markup that ends at its closing bracket: a component, a tag with a value in braces, an export statement.
_OPENS = (
    r"(?P<component>(?<!\w)<(?:[A-Z][\w.]*(?=[\s/>])|[a-z][\w-]*(?=\s[^<>{}\n]*=\{)))"
    r"|(?P<export>^export[ \t]+(?:default[ \t]+)?(?=(?:const|let|var)[ \t]+(?:[\w$]+[ \t]*[=:;]|[\[{])"
    r"|(?:async[ \t]+)?function\b[^\n(]*\(|class[ \t]+\w|[({]|\*[ \t]+from\b))"
)
_IMPORT = r"^import[ \t]+(?:[\w$*{}, \t\n]{1,1000}?[ \t\n}]from[ \t]+)?(?:'[^'\n]+'|\"[^\"\n]+\")[ \t]*;?[ \t]*$"
_LOGIC = r"\{[#:/@](?:if|else|each|await|then|catch|key|html|debug)\b[^{}\n]*\}|\{/\*[^{}]*\*/\}"

_CODE_SPAN = rf"(?P<code>{_FENCED}|`[^`\n]*`)"
_UNREAD = rf"{_OPENS}|{COMMENT}|{_IMPORT}|{_LOGIC}|{_TAG}"
_TAGS = re.compile(rf"{_CODE_SPAN}|{_UNREAD}", re.MULTILINE | re.DOTALL)
_UNREAD_HERE = re.compile(_UNREAD, re.MULTILINE | re.DOTALL)
_STANDING = re.compile(rf"{_CODE_SPAN}|(?:{_EMBED}|{_BLOCK_ID}|{_CALLOUT})", re.MULTILINE | re.DOTALL)
_BRACKETS = re.compile(
    r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`[^`\n]*`|(?P<blank>\n[ \t]*(?:\n|\Z))"
    r"|(?P<open>[({\[])|(?P<close>[)}\]])|(?P<tag>[<>])|(?P<line>\n|\Z)"
)
_LONGEST_UNREAD = 20_000
_WIKILINK = re.compile(r"\[\[[^\[\]\n|]*(?:\|([^\[\]\n]*))?\]\]")
_LINK = re.compile(r"\[[^\[\]\n]*\]\([^()\n]*(?:\([^()\n]*\)[^()\n]*)?\)|<?https?://[^\s<>)\]]+>?")
_HASHTAG = re.compile(r"(?<!\S)#[^\s#]+")
_TARGET = re.compile(r"\]\([^()\n]*(?:\([^()\n]*\)[^()\n]*)?\)|https?://[^\s<>)\]]+")
CODE = rf"{_FENCED}|`[^`\n]*`|{_MATH}"
_CODE = re.compile(CODE, re.MULTILINE | re.DOTALL)
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W_]")
_HAS_MARK = re.compile(r"[\[#<!^%{]|https?:|^(?:im|ex)port\b", re.MULTILINE)
_ADDED = re.compile(r"</?[A-Z]|</?>|\{|import\b|export\b")
_HAS_TAG = re.compile(r"<[a-zA-Z/!>]|\{[#:/@]|%%|^(?:im|ex)port\b", re.MULTILINE)


def without_markup(text: str) -> str:
    """The words of `text` in its language: no code, no markup, no lines of only links."""
    if not _HAS_MARK.search(text) and "`" not in text and "$$" not in text:
        return text
    bare = _CODE.sub(" ", masked(text))
    bare = _WIKILINK.sub(lambda link: f" {link[1] or ''} ", bare)
    return _HASHTAG.sub(" ", _TARGET.sub(" ", bare))


def masked(text: str) -> str:
    """`text` as long as it was, with spaces for tags, embeds, block ids, marks of callouts and lines of only links."""
    if not _HAS_MARK.search(text):
        return text
    standing = _STANDING.sub(lambda mark: mark[0] if mark["code"] else _blank(mark[0]), without_tags(text))
    return "".join(_lines_with_words(standing))


def without_tags(text: str) -> str:
    """`text` with spaces for tags, components, statements and comments; of the same length."""
    if not _HAS_TAG.search(text):
        return text
    return "".join(_blank(part) if is_unread else part for part, is_unread in _parts(text))


def without_components(text: str) -> str:
    """`text` with spaces for lines of only components, statements and logic; of the same length."""
    if not _HAS_TAG.search(text):
        return text
    parts = (_blank(part) if is_unread and _is_added(part) else part for part, is_unread in _parts(text))
    lines = zip(text.split("\n"), "".join(parts).split("\n"), strict=True)
    return "\n".join(written if read.strip() else read for written, read in lines)


def _is_added(part: str) -> bool:
    """Whether markup is MDX or Svelte, not HTML: a capitalised name, a statement, or values in braces."""
    return bool(_ADDED.match(part)) or (part.startswith("<") and "={" in part)


def _parts(text: str) -> Iterator[tuple[str, bool]]:
    """The pieces of the text, each with whether it is invisible markup."""
    unread = Unread(text)
    at = 0
    while mark := _TAGS.search(text, at):
        yield text[at : mark.start()], False
        end = None if mark["code"] else unread.end(mark)
        at = max(mark.end(), end or 0)
        yield text[mark.start() : at], end is not None
    yield text[at:], False


class Unread:
    """Finds where in one text components, tags, statements and comments end.

    After a failed search for an end, no further search of that kind is made, so that the time is linear in the text.
    """

    __slots__ = ("_sought", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._sought = 0

    def line_end(self, start: int) -> int | None:
        """The end of the line on which the markup at `start` ends; None where these lines contain anything else."""
        at = start
        while mark := _UNREAD_HERE.match(self._text, at):
            end = self.end(mark)
            if end is None or end == at:
                return None
            at = end
            while self._text[at : at + 1] in (" ", "\t"):
                at += 1
            if self._text[at : at + 1] in ("", "\n"):
                return at
        return None

    def end(self, mark: re.Match[str]) -> int | None:
        """Where the markup that begins with `mark` ends; None where it does not end."""
        if mark["component"] is None and mark["export"] is None:
            return mark.end()
        if mark.start() < self._sought:
            return None
        depth, is_tag, stop = 0, mark["component"] is not None, min(len(self._text), mark.start() + _LONGEST_UNREAD)
        for part in _BRACKETS.finditer(self._text, mark.end(), stop):
            kind = part.lastgroup
            if kind == "blank" and is_tag:
                self._sought = part.start()
                return None
            if is_tag and kind == "tag" and not depth:
                return part.end() if part[0] == ">" else None
            if not is_tag and kind in ("line", "blank") and not depth:
                return part.start()
            depth += (kind == "open") - (kind == "close")
        self._sought = stop
        return None


def has_words(line: str) -> bool:
    """Whether a line has words beside links, their targets and tags."""
    return bool(_WORD.search(_HASHTAG.sub("", _LINK.sub("", _WIKILINK.sub("", line)))))


def _lines_with_words(text: str) -> list[str]:
    """The lines of `text`, with lines of only links blank; code stays."""
    lines: list[str] = []
    fence = ""
    for line in text.splitlines(keepends=True):
        opening = line.lstrip(" \t>")[:3]
        if fence:
            fence = "" if opening == fence else fence
        elif opening in ("```", "~~~"):
            fence = opening
        elif _HAS_MARK.search(line) and _LETTER.search(line) and not has_words(_past_marker(line)):
            line = _blank(line)
        lines.append(line)
    return lines


def _past_marker(line: str) -> str:
    """`line` without its list or heading mark."""
    return re.sub(r"^[ \t>]*(?:(?:[-*+•·]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?)?", "", line)


def _blank(mark: str) -> str:
    """Spaces, as many as `mark` has characters; its line breaks stay."""
    return re.sub(r"[^\n]", " ", mark)
