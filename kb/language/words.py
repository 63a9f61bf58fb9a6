"""Whether a text has a question's terms: English by the stems of the index, Korean by morphemes inside its words."""

from __future__ import annotations

import functools
import re
import unicodedata

from kb.domain.text import stored_text
from kb.language.porter import stem
from kb.language.stopwords import english
from kb.records import NamedTuple

# Runs of Hangul apart from other letters and digits, as the index's terms are: 1989년 is two words.
_WORD = re.compile(r"[가-힣]+|[^\W_가-힣]+")


class Words(NamedTuple):
    """A text, folded, with its words as written, their stems and the letters they begin with."""

    folded: str
    words: tuple[str, ...]
    stems: frozenset[str]
    initials: frozenset[str]

    def has(self, term: str) -> bool:
        """Whether `term`, folded by `folded_term`, is in the text.

        A single syllable is looked for at the beginning of words only: inside them it is mostly part of another word.
        """
        if _is_latin(term):
            return term in self.stems
        return term in self.folded if len(term) > 1 else term in self.initials


def words_of(text: str) -> Words:
    """`text` as its words."""
    text = stored_text(text)
    words = tuple(_WORD.findall(text))
    return Words(text.lower(), words, frozenset(map(_stem, words)), frozenset(word[0] for word in words))


def folded_term(term: str) -> str:
    """A question's term as `Words.has` takes it."""
    return _stem(stored_text(term))


def carried(words: Words, source: Words) -> float:
    """The share, 0 to 1, of a sentence's content words that a source has; of Korean ones, of their pairs of syllables.

    Korean endings differ between a sentence and its source where the meaning does not; pairs of syllables forgive that.
    """
    parts: list[float] = []
    for word in words.words:
        if word.isascii():
            if word.lower() not in english():
                parts.append(float(source.has(folded_term(word))))
        else:
            pairs = [word[at : at + 2] for at in range(len(word) - 1)] or [word]
            parts.append(sum(pair in source.folded for pair in pairs) / len(pairs))
    return sum(parts) / len(parts) if parts else 0.0


@functools.lru_cache(maxsize=16_384)
def _stem(word: str) -> str:
    """`word` in lower case without accents; of one in Latin letters its stem."""
    word = word.lower()
    if not word.isascii():
        if not _is_latin(word):
            return word
        word = "".join(char for char in unicodedata.normalize("NFD", word) if not unicodedata.combining(char))
    return stem(word)


def _is_latin(word: str) -> bool:
    """Whether no letter of `word` stands beyond the alphabets whose words are set apart by spaces."""
    return word.isascii() or max(word) < "\u1100"
