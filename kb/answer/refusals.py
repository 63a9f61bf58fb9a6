"""Whether a model says that the sources hold no answer: its sentence is about the sources, and tells nothing of them.

Two signs together: the subject is the sources or the writer ("the notes do not mention", "I cannot tell", 자료에는 …
나와 있지 않습니다), and the sentence is not itself one that a source carries. "The virus is not found in humans" is
about the virus.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kb.answer.markers import take_markers
from kb.answer.words import Words, carried, words_of
from kb.domain.passages import Passage
from kb.language.lists import pattern
from kb.language.sentences import sentence_ranges

CARRIED = 0.75
"""The share of a sentence's words from which on it is taken from a source, whatever it sounds like."""


def is_refusal(text: str, packed: Sequence[Passage]) -> bool:
    """Whether a generated text says that the sources hold no answer: its first sentence does, or it says nothing."""
    bare = take_markers(text).text.strip()
    said = (bare[start:end] for start, end in sentence_ranges(bare))
    first = next((sentence for sentence in said if not _pattern("preamble").fullmatch(sentence.strip())), "")
    return not first or refuses(first, packed)


def refuses(sentence: str, packed: Sequence[Passage]) -> bool:
    """Whether a sentence speaks of what the sources do not say, in no words of theirs."""
    plain = " ".join(sentence.split())
    said = _pattern("en").search(plain) or _pattern("ko").search(plain)
    return said is not None and not any(_is_told(words_of(said[0]), passage) for passage in packed)


def _pattern(kind: str) -> re.Pattern[str]:
    return pattern("refusals", kind, re.IGNORECASE)


def _is_told(words: Words, passage: Passage) -> bool:
    """Whether one sentence of a passage has the words that sound like a refusal."""
    return any(
        carried(words, words_of(passage.text[start:end])) >= CARRIED for start, end in sentence_ranges(passage.text)
    )
