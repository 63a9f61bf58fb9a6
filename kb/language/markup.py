"""What in a note's text is no word of any language: targets of links, embeds, block ids, callout marks, tags.

Two readings of the same marks. `without_markup` keeps what a reader sees, for telling the language of a text.
`masked` keeps every character's place, so that a range of it is a range of the text: markup that stands by itself is
blank in it, and a line of nothing but links is a blank line. Code is left alone by both.
"""

from __future__ import annotations

import re

_FENCED = r"^[ \t>]*(?P<fence>`{3,}|~{3,}).*?(?:^[ \t>]*(?P=fence)|\Z)"
# An attribute in braces may hold an arrow function: `onClick={() => close()}`.
_TAG = (
    r"<br\s*/?>|</[a-zA-Z][^<>]*>|</?>"
    r"|(?<!\w)<(?!https?:)[a-zA-Z](?:[^<>=]|=>?)*>"
)
_COMMENT = r"<!--.*?(?:-->|\Z)|%%[^%\n]*%%"
_EMBED = r"!\[\[[^\[\]\n]*\]\]|!\[[^\[\]\n]*\]\([^()\n]*\)"
_BLOCK_ID = r"(?:(?<=\s)|^)\^[A-Za-z0-9-]+[ \t]*$"
_CALLOUT = r"(?<=>)[ \t]*\[![^\[\]\n]+\][+-]?"
_MATH = r"\$\$.*?\$\$"

_STANDING = re.compile(
    rf"(?P<code>{_FENCED}|`[^`\n]*`)|(?:{_COMMENT}|{_TAG}|{_EMBED}|{_BLOCK_ID}|{_CALLOUT})", re.MULTILINE | re.DOTALL
)
_WIKILINK = re.compile(r"\[\[[^\[\]\n|]*(?:\|([^\[\]\n]*))?\]\]")
_LINK = re.compile(r"\[[^\[\]\n]*\]\([^()\n]*(?:\([^()\n]*\)[^()\n]*)?\)|<?https?://[^\s<>)\]]+>?")
_HASHTAG = re.compile(r"(?<!\S)#[^\s#]+")
_TARGET = re.compile(r"\]\([^()\n]*(?:\([^()\n]*\)[^()\n]*)?\)|https?://[^\s<>)\]]+")
_CODE = re.compile(rf"{_FENCED}|`[^`\n]*`|{_MATH}", re.MULTILINE | re.DOTALL)
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W_]")
_HAS_MARK = re.compile(r"[\[#<!^%]|https?:")


def without_markup(text: str) -> str:
    """The words of `text` that are said in its language: no code, no markup, no line of nothing but links."""
    if not _HAS_MARK.search(text) and "`" not in text and "$$" not in text:
        return text
    bare = _CODE.sub(" ", masked(text))
    bare = _WIKILINK.sub(lambda link: f" {link[1] or ''} ", bare)
    return _HASHTAG.sub(" ", _TARGET.sub(" ", bare))


def masked(text: str) -> str:
    """`text` with spaces in the place of markup; as long as `text`, its lines where they were."""
    if not _HAS_MARK.search(text):
        return text
    standing = _STANDING.sub(lambda mark: mark[0] if mark["code"] else _blank(mark[0]), text)
    return "".join(_lines_with_words(standing))


def has_words(line: str) -> bool:
    """Whether a line says anything beside links, their targets and tags."""
    return bool(_WORD.search(_HASHTAG.sub("", _LINK.sub("", _WIKILINK.sub("", line)))))


def _lines_with_words(text: str) -> list[str]:
    """The lines of `text`, those of nothing but links blank; code stays as it is."""
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
    """`line` without what makes it an item of a list or a heading."""
    return re.sub(r"^[ \t>]*(?:(?:[-*+•·]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?)?", "", line)


def _blank(mark: str) -> str:
    """Spaces, as many as `mark` has characters; its line breaks stay."""
    return re.sub(r"[^\n]", " ", mark)
