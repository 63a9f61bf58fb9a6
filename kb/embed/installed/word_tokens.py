"""Texts → token ids, a word at a time: each word is cut once and remembered, as most of a text's words come again.

No piece of the vocabulary goes on from one word into the next, so the words of a text may be cut one by one. The
tokenizer of the same pieces takes 290 MB for 250,000 of them; these are mapped, and what is remembered is bounded.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

from kb.embed.installed.vocabulary import METASPACE, SPACE, UnigramVocabulary

# Some 15 MB of words and ids.
_MOST_WORDS = 100_000
_MOST_ENDS = 10_000
_SEPARATORS = " \n\t\r"


class WordTokens:
    """A vocabulary with the words it has met."""

    def __init__(self, vocabulary: UnigramVocabulary) -> None:
        self._vocabulary = vocabulary
        separators = [each for each in _SEPARATORS if vocabulary.replaced(each.encode()) == SPACE]
        self._separator = re.compile(f"[{re.escape(''.join(separators))}]")
        self._longest = vocabulary.longest_by_beginning() if "numpy" in sys.modules else None
        self._known: dict[str, Sequence[int]] = {}
        self._ends: dict[bytes, list[int]] = {}

    def token_ids(self, text: str) -> list[int]:
        """The ids that `UnigramVocabulary.token_ids` gives for the whole text."""
        first, *others = self._separator.split(text)
        if not others:
            return self._vocabulary.token_ids(text)
        ids = self._first(first)
        last = others.pop()
        for word in others:
            ids += self._inner(word)
        return ids + self._last(last)

    def _inner(self, word: str) -> Sequence[int]:
        """The ids of a word between others; of none where nothing is left of it."""
        known = self._known.get(word)
        if known is None:
            known = [
                token
                for part in self._parts(word)
                if part
                for token in self._vocabulary.segmented(METASPACE + part, self._longest)
            ]
            if len(self._known) >= _MOST_WORDS:
                self._known.clear()
            self._known[word] = known
        return known

    def _first(self, word: str) -> list[int]:
        """The ids of the first word of several, which a space goes before unless it begins with one."""
        first, *others = self._parts(word)
        ids: list[int] = []
        if first:
            begins = first.startswith(METASPACE)
            ids += self._cut(first if begins else METASPACE + first)
        return ids + [token for part in others if part for token in self._cut(METASPACE + part)]

    def _last(self, word: str) -> list[int]:
        """The ids of the last word of several; a space at the end of a text is a piece."""
        *others, last = self._parts(word)
        parts = [*(part for part in others if part), last]
        return [token for part in parts for token in self._cut(METASPACE + part)]

    def _parts(self, word: str) -> list[bytes]:
        """The words that a word is after its characters are replaced: mostly one, the same."""
        return self._vocabulary.replaced(word.encode()).split(SPACE)

    def _cut(self, word: bytes) -> list[int]:
        """The ids of a word at one end of a text."""
        known = self._ends.get(word)
        if known is None:
            known = self._vocabulary.segmented(word, self._longest)
            if len(self._ends) >= _MOST_ENDS:
                self._ends.clear()
            self._ends[word] = known
        return known
