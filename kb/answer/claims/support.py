"""Whether the words of a sentence, or its meaning, are in the passages it cites."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from kb.domain.passages import Passage
from kb.language.detect import query_language
from kb.language.words import Words, carried, words_of

MOST_WORDS = 0.6
SOME_WORDS = 0.3

NearEnough = Callable[[str, Sequence[Passage]], bool]
"""Whether a sentence is near enough in meaning to one of the passages; False where there are no vectors."""


def carried_share(claim: str, cited: Sequence[Passage]) -> float:
    """The largest share of a sentence's words, 0 to 1, that one of the passages has."""
    words = words_of(claim)
    return max((carried(words, _words_of_whole(passage)) for passage in cited), default=0.0)


def is_near(claim: str, cited: Sequence[Passage], share: float, near_enough: NearEnough) -> bool:
    """Whether a sentence that shares some words with its passages, or is in another language, is near to one."""
    abroad = [passage for passage in cited if passage.lang not in (query_language(claim), "und")]
    return bool(abroad if share < SOME_WORDS else cited) and near_enough(claim, abroad or cited)


@functools.lru_cache(maxsize=64)
def _words_of_whole(passage: Passage) -> Words:
    """The words of a passage with its title and headings, which it may speak of without naming."""
    return words_of("\n".join((passage.title, *passage.heading_path, passage.text)))
