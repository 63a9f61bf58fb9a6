"""What speaks for a sentence as the answer to a question: the terms in it and around it, its nearness, its kind.

A ranker reads passages by their best sentence, an answer is made of the best ones: both weigh these signals.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from kb.domain.passages import Sentence, TermWeight
from kb.domain.search import Term
from kb.language.expectation import expectation
from kb.language.sentences import is_code, sentence_ranges
from kb.language.words import Words, folded_term, words_of
from kb.records import NamedTuple
from kb.retrieve.terms import term_counts
from kb.store.connection import Connection


def term_weights(db: Connection, terms: Sequence[Term]) -> tuple[TermWeight, ...]:
    """The terms with their rarity, which is above 0 for a word of every passage too."""
    return tuple(TermWeight(term.text, row.idf) for term, row in zip(terms, term_counts(db, terms), strict=True))


class Signals(NamedTuple):
    """What speaks for a sentence. Term signals are shares of the question's terms, weighed by their rarity (idf).

    `own_terms` are in the sentence; `heading_terms` in its title and headings, `previous_terms` in the sentence
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


class Readable(Protocol):
    """A passage whose sentences are read; `cosine` is the question's to it as a whole, 0 where that is not known."""

    @property
    def number(self) -> int:
        """By which its sentences name it."""

    @property
    def title(self) -> str:
        """Its document's."""

    @property
    def heading_path(self) -> tuple[str, ...]:
        """The headings it is under."""

    @property
    def text(self) -> str:
        """The passage verbatim."""

    @property
    def cosine(self) -> float:
        """In [-1, 1]."""


def sentence_signals(
    question: str, terms: Sequence[TermWeight], passages: Sequence[Readable]
) -> Iterator[tuple[Sentence, Signals]]:
    """Every sentence of the passages with what speaks for it."""
    asked = words_of(question)
    expected = expectation(asked.words)
    pairs = {word[at : at + 2].lower() for word in asked.words for at in range(len(word) - 1)}
    weights = folded_weights(terms)
    total = sum(weights.values()) or 1.0
    nearest = max((passage.cosine for passage in passages), default=0.0)

    def share(found: frozenset[str]) -> float:
        return sum(weights[term] for term in sorted(found)) / total

    for passage in passages:
        in_heading = found_terms(words_of(" ".join((passage.title, *passage.heading_path))), weights)
        cut = [
            Sentence(passage.number, start, end, passage.text[start:end])
            for start, end in sentence_ranges(passage.text)
        ]
        parts = [(sentence, words_of(sentence.text)) for sentence in cut]
        found = [found_terms(words, weights) for _, words in parts]
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
                    nearness=passage.cosine - nearest,
                    expected=float(expected.is_met_by(sentence.text, words.words)),
                ),
            )
            previous = own


def folded_weights(terms: Sequence[TermWeight]) -> dict[str, float]:
    """The terms as they are matched, each with its idf; the rarer spelling's where several fall together."""
    weights: dict[str, float] = {}
    for term, idf in terms:
        folded = folded_term(term)
        weights[folded] = max(idf, weights.get(folded, 0.0))
    return weights


def found_terms(words: Words, weights: Mapping[str, float]) -> frozenset[str]:
    """The terms, of those that are weighed, that are in a text."""
    return frozenset(term for term in weights if words.has(term))


def sentence_features(passage_text: str, sentence: Sentence, signals: Signals, cosine: float) -> dict[str, float]:
    """What is weighed of a sentence: the term signals, its nearness to the question, and what kind of line it is."""
    text = sentence.text.rstrip()
    return {
        "own_terms": signals.own_terms,
        "heading_terms": signals.heading_terms,
        "previous_terms": signals.previous_terms,
        "bigrams": signals.bigrams,
        "expected": signals.expected,
        "cosine": cosine,
        "code": float(is_code(passage_text, sentence.start)),
        "announces": float(text.endswith((":", "：", ":**"))),
        "asks": float(text.endswith(("?", "？"))),
        "length": math.log(len(text) + 10) - 4.5,
    }
