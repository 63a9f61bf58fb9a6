"""How far a passage of source code words things as the question does: pairs of words that stand together in both."""

from __future__ import annotations

import re
from itertools import pairwise

from kb.language.lists import english_stopwords

_WORD = re.compile(r"[A-Za-z]+|[^\W\d_A-Za-z]+")
# Words that begin alike are taken for one: retries, retried.
_BEGINNING_CHARS = 5


def word_pairs(text: str) -> frozenset[tuple[str, str]]:
    """The pairs of words that follow one another in a text, words that say nothing left out."""
    said = [word for word in map(str.lower, _WORD.findall(text)) if word not in english_stopwords()]
    return frozenset(pairwise(word[:_BEGINNING_CHARS] for word in said))


def share_of_pairs(asked: frozenset[tuple[str, str]], text: str) -> float:
    """The part of a question's pairs, 0 to 1, that a text has; 0 for a question of one word."""
    return len(asked & word_pairs(text)) / len(asked) if asked else 0.0
