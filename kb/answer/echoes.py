"""Whether a sentence of a model only repeats an instruction that is in a source: words meant for it, no answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kb.answer.words import carried, words_of
from kb.domain.passages import Passage
from kb.language.lists import pattern
from kb.language.sentences import sentence_ranges

REPEATED = 0.8
"""The share of a sentence's words that are in the instruction."""

# `instruction` is said to whoever answers, not to who reads the note: how to answer, what to forget, what to be.
# `tells` is a sentence that tells of one: it repeats it too, and answers ("the note asks whoever answers to …").
_LISTS = "instructions"


def repeats_instruction(sentence: str, cited: Sequence[Passage]) -> bool:
    """Whether a sentence has the words of an instruction to the answerer in one of the passages, and tells no more."""
    if pattern(_LISTS, "tells", re.IGNORECASE).search(sentence):
        return False
    words = words_of(sentence)
    return any(
        carried(words, words_of(instruction)) >= REPEATED for passage in cited for instruction in instructions(passage)
    )


def instructions(passage: Passage) -> list[str]:
    """The sentences of a passage that tell whoever answers what to say or do."""
    told = (passage.text[start:end] for start, end in sentence_ranges(passage.text))
    return [sentence for sentence in told if pattern(_LISTS, "instruction", re.IGNORECASE).search(sentence)]
