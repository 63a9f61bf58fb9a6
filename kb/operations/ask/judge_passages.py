# mypy: ignore-errors
"""Reads what a search found against its question: the best pieces, and how likely they answer."""

from __future__ import annotations

from collections.abc import Sequence

from kb.answer.extractive import Chosen
from kb.answer.judging import (
    Excerpt,
    Judgement,
)
from kb.answer.reading import read_chosen, reading_evidence, reading_model
from kb.answer.wording import of_other_days, poor_fit
from kb.domain.answers.answer import Evidence
from kb.domain.search import SearchHit, SearchQuery, SearchResult
from kb.language.occurrences import occurs
from kb.operations.session.knowledge_base import KnowledgeBase


def judge_passages(
    base: KnowledgeBase, query: SearchQuery, result: SearchResult, hits: Sequence[SearchHit]
) -> Judgement | None:
    """What is made of a search whose passages were read; None without the vector to read by.

    `hits` are those of its hits in which something is said.
    """
    return None


def read_evidence(judgement: Judgement) -> Evidence:
    """A judgement as the evidence that the gate compares."""
    features = judgement.features
    return Evidence(
        judgement.about,
        "read",
        judgement.version,
        features.get("most_words", 0.0),
        features.get("margin", 0.0),
        features.get("nearness"),
        judgement.right,
    )


def _doubt(question: str, excerpts: Sequence[Excerpt], language: str) -> str | None:
    """What in the best sentence speaks against an answer in the question's own language; None where nothing does."""
    if not excerpts or not excerpts[0].ranked.candidate.is_own:
        return None
    best = excerpts[0]
    sentence = best.piece._replace(text=best.best)
    read = read_chosen(question, (Chosen(sentence, best.score, 1.0),), [best.passage], None)
    likely, model = reading_evidence(read), reading_model()
    return None if likely >= model.gate else poor_fit(language, f"{likely:.2f} < {model.gate} ({model.version})")


def _doubt_of_days(result: SearchResult, excerpts: Sequence[Excerpt], language: str) -> str | None:
    """That the best passage is of other days than the question speaks of, as far as it is known.

    A date in digits may be one that the text tells of: it counts only where documents are of that date.
    """
    days = result.days
    if days is None or not excerpts or excerpts[0].ranked.is_favoured:
        return None
    is_told_of = any(char.isdigit() for char in days.phrase) and not days.documents
    in_words = occurs(days.phrase, excerpts[0].passage.text, "words")
    return None if is_told_of or in_words else of_other_days(language, days.phrase)
