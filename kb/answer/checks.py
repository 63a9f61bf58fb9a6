"""A generated text → its sentences, each checked against what it cites: supported, weak, or dropped.

The rule, for one sentence and the passages it cites (those of the next marker where it has none itself; where nothing
follows, the passage that carries most of its words):

    dropped     a quotation, number or name of it stands in none of them, nor in the question
    supported   most of its words stand in one of them; or some do, or the passage is in another language, and the
                sentence is as near to the passage in meaning as a question is to a passage that answers it
    weak        neither could be shown
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from kb.answer.echoes import repeats_instruction
from kb.answer.extractive import sentence_citation
from kb.answer.facts import names_in, numbers_in, quotes_in, stands_in, stated_numbers
from kb.answer.markers import take_markers
from kb.domain.answers import Claim
from kb.domain.passages import Passage, Sentence
from kb.language.detect import query_language
from kb.language.sentences import sentence_ranges, sentences
from kb.language.words import Words, carried, words_of

MOST_WORDS = 0.6
SOME_WORDS = 0.3

NearEnough = Callable[[str, Sequence[Passage]], bool]
"""Whether a sentence is near enough in meaning to one of the passages; False where there are no vectors."""


class Read(NamedTuple):
    """A sentence of a generated text with the passages it cites; none where it cites nothing that was given."""

    text: str
    cited: tuple[int, ...]


def check_claims(text: str, question: str, packed: Sequence[Passage], near_enough: NearEnough) -> tuple[Claim, ...]:
    """The sentences of a generated text in their order, each with what it stands on."""
    passages = {passage.number: passage for passage in packed}
    return tuple(_check(read, question, passages, near_enough) for read in read_sentences(text, frozenset(passages)))


def read_sentences(text: str, known: frozenset[int]) -> tuple[Read, ...]:
    """The sentences of a generated text without its markers, each with the known passages it cites."""
    bare, marks = take_markers(text)
    ranges = list(sentence_ranges(bare))
    cited: list[dict[int, None]] = [{} for _ in ranges]
    for at, numbers in marks:
        index = sum(start < at for start, _ in ranges) - 1
        if index >= 0:
            cited[index].update((number, None) for number in numbers if number in known)
    for index in range(len(ranges) - 2, -1, -1):
        if not cited[index]:
            cited[index] = cited[index + 1]
    return tuple(Read(bare[start:end], tuple(numbers)) for (start, end), numbers in zip(ranges, cited, strict=True))


def _check(read: Read, question: str, passages: dict[int, Passage], near_enough: NearEnough) -> Claim:
    words = words_of(read.text)
    cited = [passages[number] for number in read.cited] or _likeliest(words, passages)
    numbers = tuple(passage.number for passage in cited)
    fault = _stated_elsewhere(read.text, question, cited)
    if fault:
        return Claim(read.text, numbers, "dropped", reason=fault)
    best, sentence = _best_sentence(words, cited)
    share = max((carried(words, _words_of_whole(passage)) for passage in cited), default=0.0)
    abroad = [passage for passage in cited if passage.lang not in (query_language(read.text), "und")]
    supported = share >= MOST_WORDS or (
        bool(abroad if share < SOME_WORDS else cited) and near_enough(read.text, abroad or cited)
    )
    if best is None or sentence is None:
        return Claim(read.text, numbers, "weak", reason="no passage carries its words")
    return Claim(
        read.text,
        numbers,
        "supported" if supported else "weak",
        sentence.text,
        sentence_citation(best, sentence),
        None if supported else f"its passages carry {share:.0%} of its words",
    )


def _likeliest(words: Words, passages: dict[int, Passage]) -> list[Passage]:
    """The passage that carries most of a sentence's words, where that is most of them."""
    ranked = sorted(passages.values(), key=lambda passage: (-carried(words, _words_of_whole(passage)), passage.number))
    return [passage for passage in ranked[:1] if carried(words, _words_of_whole(passage)) >= MOST_WORDS]


def _stated_elsewhere(text: str, question: str, cited: Sequence[Passage]) -> str | None:
    """What a sentence states and neither its passages nor the question say; None where there is nothing such."""
    if not cited:
        return "it cites no passage, and none carries its words"
    if repeats_instruction(text, cited):
        return "it only repeats an instruction found in its passage"
    sources = "\n".join(map(_whole, cited))
    for quote in quotes_in(text):
        if not stands_in(quote, sources):
            return f"the quotation “{quote}” stands in none of its passages"
    known = f"{sources}\n{question}"
    numbers = numbers_in(text) - stated_numbers(known)
    if numbers:
        return f"{', '.join(sorted(numbers))} stands in none of its passages"
    lowered = known.lower()
    names = {name for name in names_in(text) if name not in lowered}
    if names:
        return f"{', '.join(sorted(names))} stands in none of its passages"
    return None


def _best_sentence(words: Words, cited: Sequence[Passage]) -> tuple[Passage | None, Sentence | None]:
    """The sentence of the cited passages that carries most of the words."""
    ranked = [
        (carried(words, words_of(sentence.text)), passage, sentence)
        for passage in cited
        for sentence in sentences(passage)
    ]
    if not ranked:
        return None, None
    _, passage, sentence = max(ranked, key=lambda each: each[0])
    return passage, sentence


@functools.lru_cache(maxsize=64)
def _words_of_whole(passage: Passage) -> Words:
    return words_of(_whole(passage))


def _whole(passage: Passage) -> str:
    """A passage with its title and headings, which it may speak of without naming."""
    return "\n".join((passage.title, *passage.heading_path, passage.text))
