"""A generated text → its sentences, each checked against what it cites: supported, weak, or dropped.

A sentence is judged by what it cites (the passages of the next marker where it has none itself; where nothing follows,
the passage that carries most of its words): what a `ClaimJudge` finds contradicted is dropped, what it finds supported
is kept as that, and the rest stays as weak.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kb.answer.claims.reasons import in_words
from kb.answer.claims.support import MOST_WORDS, carried_share
from kb.answer.markers import take_markers
from kb.answer.quotations import sentence_citation
from kb.answer.words import Words, carried, words_of
from kb.domain.answers.answer import Claim, ClaimStatus, SecondVerdict
from kb.domain.answers.claims import ClaimJudge, Judged, ReasonKind, SecondJudge, because, stricter
from kb.domain.passages import Passage, Sentence
from kb.language.detect import query_language
from kb.language.sentences import sentence_ranges, sentences


class Read(NamedTuple):
    """A sentence of a generated text with the passages it cites; none where it cites nothing that was given."""

    text: str
    cited: tuple[int, ...]


def check_claims(
    text: str, question: str, packed: Sequence[Passage], judge: ClaimJudge, second: SecondJudge | None = None
) -> tuple[Claim, ...]:
    """The sentences of a generated text in their order, each with what it rests on. Raises: ModelError by `second`."""
    passages = {passage.number: passage for passage in packed}
    return tuple(_check(read, question, passages, judge, second) for read in read_sentences(text, frozenset(passages)))


def read_sentences(text: str, known: frozenset[int]) -> tuple[Read, ...]:
    """The sentences of a generated text without its markers, each with the known passages it cites."""
    bare, marks = take_markers(text)
    ranges = list(sentence_ranges(bare, {at for at, _ in marks}))
    cited: list[dict[int, None]] = [{} for _ in ranges]
    for at, numbers in marks:
        index = sum(start < at for start, _ in ranges) - 1
        if index >= 0:
            cited[index].update((number, None) for number in numbers if number in known)
    for index in range(len(ranges) - 2, -1, -1):
        if not cited[index]:
            cited[index] = cited[index + 1]
    return tuple(Read(bare[start:end], tuple(numbers)) for (start, end), numbers in zip(ranges, cited, strict=True))


def _check(
    read: Read, question: str, passages: dict[int, Passage], judge: ClaimJudge, second: SecondJudge | None
) -> Claim:
    language = query_language(question)
    words = words_of(read.text)
    cited = [passages[number] for number in read.cited] or _likeliest(read.text, passages)
    numbers = tuple(passage.number for passage in cited)
    if not cited:
        return Claim(read.text, numbers, "dropped", reason=in_words(because("uncited"), language))
    judged, beside = _twice_judged(judge.judge(read.text, question, cited), read.text, cited, second)
    why = in_words(judged.reason, language) if judged.reason else None
    best, sentence = _best_sentence(words, cited)
    if judged.verdict == "contradiction":
        return Claim(read.text, numbers, "dropped", reason=why, second=beside)
    if best is None or sentence is None:
        return Claim(read.text, numbers, "weak", reason=in_words(because("no_words"), language), second=beside)
    status: ClaimStatus = "supported" if judged.verdict == "support" else "weak"
    return Claim(read.text, numbers, status, sentence.text, sentence_citation(best, sentence), why, beside)


def _twice_judged(
    judged: Judged, claim: str, cited: Sequence[Passage], second: SecondJudge | None
) -> tuple[Judged, SecondVerdict | None]:
    """The stricter of what the rules and the second judge say, and what each said."""
    if second is None:
        return judged, None
    said = second.judge(claim, [passage.text for passage in cited])
    beside = SecondVerdict(second.label, said, judged.verdict)
    if stricter(judged.verdict, said) == judged.verdict:
        return judged, beside
    kind: ReasonKind = "second_contradicts" if said == "contradiction" else "second_unsure"
    return Judged(said, because(kind, second.label)), beside


def _likeliest(text: str, passages: dict[int, Passage]) -> list[Passage]:
    """The passage that carries most of a sentence's words, where that is most of them."""
    shares = [(-carried_share(text, [passage]), number) for number, passage in passages.items()]
    share, number = min(shares, default=(0.0, 0))
    return [passages[number]] if -share >= MOST_WORDS else []


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
