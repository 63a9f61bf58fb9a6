"""What a model thinks aloud, `<think>…</think>`, taken out of its text: of a whole one, or as its pieces come."""

from __future__ import annotations

import re

# A tag between backticks is written about, and stays.
_NAMES = "think|thinking|thought|thoughts|reasoning|reflection"
_OPENING = re.compile(rf"(?<!`)<\s*(?:{_NAMES})\s*>", re.IGNORECASE)
_CLOSING = re.compile(rf"(?<!`)<\s*/\s*(?:{_NAMES})\s*>", re.IGNORECASE)
_BEGUN = re.compile(r"<\s*/?\s*[a-z]*\s*\Z", re.IGNORECASE)
_LONGEST_TAG = 40


def without_thoughts(text: str) -> str:
    """`text` without its thoughts; those that never end reach to its end, those that never began to its beginning."""
    shown = ThoughtFilter()
    kept = shown.feed(text) + shown.end()
    ends = [closing.end() for closing in _CLOSING.finditer(kept)]
    return kept[ends[-1] :].lstrip() if ends else kept


class ThoughtFilter:
    """Takes pieces of a text, wherever they are cut, and gives on what is in no thought."""

    def __init__(self) -> None:
        self._held = ""
        self._thinks = False
        self._before = ""

    def feed(self, piece: str) -> str:
        """What can be shown now; the start of a possible tag is held back until it is whole."""
        text = self._held + piece
        begun = _BEGUN.search(text[-_LONGEST_TAG:])
        cut = len(text) - len(begun[0]) if begun else len(text)
        self._held = text[cut:]
        return self._shown(text[:cut])

    def end(self) -> str:
        """What was held back when the stream ended."""
        text, self._held = self._held, ""
        return self._shown(text)

    def _shown(self, text: str) -> str:
        parts: list[str] = []
        text, at = self._before + text, len(self._before)
        while tag := (_CLOSING if self._thinks else _OPENING).search(text, at):
            if not self._thinks:
                parts.append(text[at : tag.start()])
            self._thinks, at = not self._thinks, tag.end()
        if not self._thinks:
            parts.append(text[at:])
        self._before = text[-1:]
        return "".join(parts)
