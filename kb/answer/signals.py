"""The words of a question in the sentences of a passage: what a piece of it is chosen by, beside its tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kb.answer.words import Words, expectation, folded_term, words_of
from kb.domain.passages import Passage, Sentence, TermWeight
from kb.domain.search import Term
from kb.language.sentences import sentences
from kb.retrieve.terms import term_counts
from kb.store.connection import Connection

# What counts beside the terms in a sentence, as a part of all of those: the question's pairs of letters, which forgive
# endings, and a date, number, name, place or reason where such is asked for.
_PAIRS, _EXPECTED = 0.3, 0.2


def term_weights(db: Connection, terms: Sequence[Term]) -> tuple[TermWeight, ...]:
    """The terms with their rarity, which is above 0 for a word of every passage too."""
    return tuple(TermWeight(term.text, row.idf) for term, row in zip(terms, term_counts(db, terms), strict=True))


def sentence_words(question: str, terms: Sequence[TermWeight], passage: Passage) -> list[tuple[Sentence, float]]:
    """Every sentence of a passage with how much of the question's words speaks for it, 0 to 1.5; terms by rarity."""
    asked = words_of(question)
    expected = expectation(asked.words)
    pairs = {word[at : at + 2].lower() for word in asked.words for at in range(len(word) - 1)}
    weights = folded_weights(terms)
    total = sum(weights.values()) or 1.0
    scored = []
    for sentence in sentences(passage):
        words = words_of(sentence.text)
        score = sum(weights[term] for term in sorted(found_terms(words, weights))) / total
        score += _PAIRS * sum(pair in words.folded for pair in pairs) / (len(pairs) or 1)
        score += _EXPECTED * expected.is_met_by(sentence.text, words.words)
        scored.append((sentence, score))
    return scored


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
