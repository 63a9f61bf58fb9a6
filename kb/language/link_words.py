"""The words of a link in its place, as a reader of a note sees them."""

from __future__ import annotations

import re

_LINK_OR_CODE = re.compile(
    r"(?P<code>`[^`\n]*`)|!?\[\[(?P<target>[^\[\]\n|]+)(?:\|(?P<alias>[^\[\]\n]*))?\]\]"
    r"|!?\[(?P<words>[^\[\]\n]+)\]\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)"
)
_HARD_BREAK = re.compile(r"(?<!\\)\\$", re.MULTILINE)


def link_words(text: str) -> str:
    """`text` with the words of a link in its place, and no mark where a line is broken; code stays as it is.

    The words of a wikilink are its alias, else its target.
    """
    return _HARD_BREAK.sub("", _LINK_OR_CODE.sub(_words_of, text) if "[[" in text or "](" in text else text)


def _words_of(match: re.Match[str]) -> str:
    if match["code"] or match["words"]:
        return match["words"] or match[0]
    alias, target = (match["alias"] or "").strip(), match["target"].strip().rstrip("\\")
    note, *below = (part.strip() for part in target.split("#"))
    return alias or " › ".join(part for part in (note, *below) if part and not part.startswith("^")) or target
