"""A question and its passages → the sentences that carry the answer, word for word, best first; no model.

Each sentence gets a few signals, none on the scale of the search's score, and a score that is linear in them. The
weights are data (`WEIGHTS`); how they were fitted and what they reach stands in docs/answers.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kb.answer.expectation import expectation
from kb.answer.words import Words, folded_term, words_of
from kb.domain.citations import Citation, LineCitation
from kb.domain.passages import Passage, Sentence, TermWeight
from kb.language.sentences import sentences


class Signals(NamedTuple):
    """What speaks for a sentence. Term signals are shares of the question's terms, weighed by their rarity (idf).

    `own_terms` stand in the sentence; `heading_terms` in its title and headings, `previous_terms` in the sentence
    before it, each without those already counted; `passage_terms` anywhere in its passage or headings. `bigrams` is the
    share of the question's pairs of neighbouring letters: it forgives endings. `nearness` is how much the passage's
    cosine lacks of the best one's (0 for the best, below 0 for others). `expected` is 1 where the sentence holds a
    date, number, name, place or reason that the question asks for.
    """

    own_terms: float
    heading_terms: float
    previous_terms: float
    passage_terms: float
    bigrams: float
    nearness: float
    expected: float


WEIGHTS_VERSION = "extractive-v1"
WEIGHTS = Signals(
    own_terms=8.9,
    heading_terms=7.6,
    previous_terms=4.4,
    passage_terms=3.3,
    bigrams=2.8,
    nearness=60.1,
    expected=1.8,
)
"""Fitted on all articles of korquad-dev and squad2-dev together, each language with the same weight."""


class Chosen(NamedTuple):
    """A sentence that may carry the answer. `share` is its part, in [0, 1], of what speaks for all sentences at once.

    `score` is a weighted sum of signals, `share` the softmax of the scores over every sentence of the passages given.
    """

    sentence: Sentence
    score: float
    share: float


def choose_sentences(
    question: str, terms: Sequence[TermWeight], passages: Sequence[Passage], *, limit: int
) -> tuple[Chosen, ...]:
    """At most `limit` sentences of the passages, best first; of sentences that read alike the best one.

    `terms` are the question's terms as it was searched. The same input gives the same output, whatever the passages'
    order: ties go to the lower passage number, then to the earlier sentence.
    """
    scored = [
        (sum(map(float.__mul__, WEIGHTS, signals)), sentence)
        for sentence, signals in sentence_signals(question, terms, passages)
    ]
    scored.sort(key=lambda pair: (-pair[0], pair[1].passage, pair[1].start))
    if not scored or limit < 1:
        return ()
    total = sum(math.exp(score - scored[0][0]) for score, _ in scored)
    chosen: dict[str, Chosen] = {}
    for score, sentence in scored:
        spelling = " ".join(sentence.text.split())
        if spelling not in chosen:
            chosen[spelling] = Chosen(sentence, score, math.exp(score - scored[0][0]) / total)
        if len(chosen) == limit:
            break
    return tuple(chosen.values())


def sentence_signals(
    question: str, terms: Sequence[TermWeight], passages: Sequence[Passage]
) -> Iterator[tuple[Sentence, Signals]]:
    """Every sentence of the passages with what speaks for it."""
    asked = words_of(question)
    expected = expectation(asked.words)
    pairs = {word[at : at + 2].lower() for word in asked.words for at in range(len(word) - 1)}
    weights = _weights(terms)
    total = sum(weights.values()) or 1.0
    nearest = max((_cosine(passage) for passage in passages), default=0.0)

    def share(found: frozenset[str]) -> float:
        return sum(weights[term] for term in sorted(found)) / total

    for passage in passages:
        in_heading = _found(words_of(" ".join((passage.title, *passage.heading_path))), weights)
        parts = [(sentence, words_of(sentence.text)) for sentence in sentences(passage)]
        found = [_found(words, weights) for _, words in parts]
        in_passage = share(in_heading.union(*found))
        previous: frozenset[str] = frozenset()
        for (sentence, words), own in zip(parts, found, strict=True):
            yield (
                sentence,
                Signals(
                    own_terms=share(own),
                    heading_terms=share(in_heading - own),
                    previous_terms=share(previous - in_heading - own),
                    passage_terms=in_passage,
                    bigrams=sum(pair in words.folded for pair in pairs) / (len(pairs) or 1),
                    nearness=_cosine(passage) - nearest,
                    expected=float(expected.is_met_by(sentence.text, words.words)),
                ),
            )
            previous = own


def _weights(terms: Sequence[TermWeight]) -> dict[str, float]:
    """The terms as they are matched, each with its idf; the rarer spelling's where several fall together."""
    weights: dict[str, float] = {}
    for term, idf in terms:
        folded = folded_term(term)
        weights[folded] = max(idf, weights.get(folded, 0.0))
    return weights


def _found(words: Words, weights: dict[str, float]) -> frozenset[str]:
    return frozenset(term for term in weights if words.has(term))


def _cosine(passage: Passage) -> float:
    """The passage's cosine; 0 where it was found by words alone."""
    return passage.retrieval.vector_score or 0.0


def fewest(chosen: Sequence[Chosen], *, certainty: float = 0.9) -> tuple[Chosen, ...]:
    """The first of the chosen sentences, as few as together reach `certainty` of the share, all where they do not."""
    reached = 0.0
    for count, each in enumerate(chosen, 1):
        reached += each.share
        if reached >= certainty:
            return tuple(chosen[:count])
    return tuple(chosen)


def sentence_citation(passage: Passage, sentence: Sentence) -> Citation:
    """Where a sentence stands: its own lines of a text file, the passage's place in anything else."""
    cited = passage.citation
    if not isinstance(cited, LineCitation):
        return cited
    start = cited.start + passage.text.count("\n", 0, sentence.start)
    return cited._replace(start=start, end=start + sentence.text.count("\n"))
