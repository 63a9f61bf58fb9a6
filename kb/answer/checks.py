"""Checks each sentence of a generated text against the passages it cites: supported, not checked, weak, or dropped.

A sentence without a marker is judged by the passages of the next marker; if no marker follows, by the passage that has
most of its words. The exact rules of `kb.answer.claims` judge first. Where they find no contradiction and the owner has
configured a claim judge, its verdict decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kb.answer.claims import MOST_WORDS, JudgedClaim, carried_share, judge_claim, nearest_sentence
from kb.answer.generated_text import take_markers
from kb.answer.quoting import sentence_citation
from kb.answer.wording import say
from kb.domain.answers import Claim, ClaimJudge, ClaimStatus, SecondVerdict
from kb.domain.search import Passage
from kb.language.detect import query_language
from kb.language.sentences import sentence_ranges


class Read(NamedTuple):
    """A sentence of a generated text, and the numbers of the given passages that it cites."""

    text: str
    cited: tuple[int, ...]


def check_claims(
    text: str, question: str, packed: Sequence[Passage], judge: ClaimJudge | None = None
) -> tuple[Claim, ...]:
    """The sentences of a generated text in order, each with its verdict and passages. Raises: ModelError by `judge`."""
    passages = {passage.number: passage for passage in packed}
    return tuple(_check(read, question, passages, judge) for read in read_sentences(text, frozenset(passages)))


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


def _check(read: Read, question: str, passages: dict[int, Passage], judge: ClaimJudge | None) -> Claim:
    cited = [passages[number] for number in read.cited] or _likeliest(read.text, passages)
    numbers = tuple(passage.number for passage in cited)
    if not cited:
        return Claim(read.text, numbers, "dropped", reason=say(query_language(question), "uncited"))
    judged = judge_claim(read.text, question, cited)
    second: SecondVerdict | None = None
    if judge is not None:
        second = SecondVerdict(judge.label, judge.judge(read.text, [each.text for each in cited]), judged.verdict)
        judged = _decided(judged, second, query_language(question))
    nearest = nearest_sentence(read.text, cited)
    if judged.verdict == "contradiction" or nearest is None:
        return Claim(read.text, numbers, "dropped", reason=judged.reason, second=second)
    status: ClaimStatus = "not_checked" if second is None else "weak"
    if judged.verdict == "support":
        status = "supported"
    _, passage, sentence = nearest
    at = sentence_citation(passage, sentence)
    return Claim(read.text, numbers, status, sentence.text, at, judged.reason, second)


def _decided(judged: JudgedClaim, second: SecondVerdict, language: str) -> JudgedClaim:
    """A contradiction that the rules found, or else the claim judge's verdict, with its reason."""
    if judged.verdict == "contradiction":
        return judged
    if second.verdict == "support":
        return JudgedClaim("support")
    reason = "judge_contradicts" if second.verdict == "contradiction" else "judge_unsure"
    return JudgedClaim(second.verdict, say(language, reason, second.judge))


def _likeliest(text: str, passages: dict[int, Passage]) -> list[Passage]:
    """The passage with most of a sentence's words, in a list; empty if its share of them is below `MOST_WORDS`."""
    shares = [(-carried_share(text, [passage]), number) for number, passage in passages.items()]
    share, number = min(shares, default=(0.0, 0))
    return [passages[number]] if -share >= MOST_WORDS else []
