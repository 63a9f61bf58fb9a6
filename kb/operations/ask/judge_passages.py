"""Judges what a search found against its question: the best pieces, and how likely they answer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from kb.answer.judging import READ_PASSAGES, Excerpt, Judgement, Measure, Nearness, judge, read_excerpts, standing
from kb.answer.reading import read_sentence
from kb.answer.signals import term_weights
from kb.answer.wording import doubtful, of_other_days
from kb.domain.answers.answer import Channel, Evidence
from kb.domain.passages import Passage
from kb.domain.search import RetrievalDetail, SearchResult
from kb.language.detect import query_language
from kb.language.occurrences import occurs
from kb.operations.search.search import vector_source
from kb.operations.session.knowledge_base import KnowledgeBase
from kb.retrieve.terms import bm25_max

JUDGED_HITS = 10
"""So many of the first hits are judged where the candidates are not known, however many were asked for."""

_CHANNELS: dict[Measure, Channel] = {"late": "late", "cosine": "cosine", "words": "lexical"}


def judge_passages(base: KnowledgeBase, result: SearchResult, passages: Sequence[Passage]) -> Judgement | None:
    """What is made of a search; None without a passage.

    `passages` are those of its first hits in which something is said, in the order that the judgement was fitted for.
    """
    if not passages:
        return None
    question = result.read_as or result.query.text
    terms = term_weights(base.db, result.searched)
    first = passages[:READ_PASSAGES]
    excerpts = read_excerpts(question, terms, first, _nearness(base, result))
    found = [_with_share(base, result, each.retrieval) for each in passages[:JUDGED_HITS]]
    best = standing(found[0], result.candidates or found)
    judged = judge(question, terms, excerpts, best)
    language = query_language(result.query.text)
    return judged._replace(doubt=_doubt(question, judged, language) or _doubt_of_days(result, excerpts, language))


def read_evidence(judgement: Judgement) -> Evidence:
    """A judgement as the evidence that the gate compares."""
    best = judgement.standing
    nearness = None if best.measure == "words" else best.score
    channel = _CHANNELS[best.measure]
    return Evidence(judgement.about, channel, judgement.version, best.words, best.lead, nearness, judgement.right)


def _nearness(base: KnowledgeBase, result: SearchResult) -> Nearness | None:
    """What compares the question with sentences; None where it is asked by words alone."""
    if result.query.mode == "lexical":
        return None
    source = vector_source(base, result.query)
    return None if source is None else partial(source.similarities, result.read_as or result.query.text)


def _with_share(base: KnowledgeBase, result: SearchResult, found: RetrievalDetail) -> RetrievalDetail:
    """The figures of a hit with its share of the question's words, which a search by words alone leaves out."""
    if found.lexical_share is not None or found.lexical_score is None:
        return found
    highest = bm25_max(base.db, result.searched)
    return found._replace(lexical_share=min(1.0, found.lexical_score / highest) if highest else 0.0)


def _doubt(question: str, judged: Judgement, language: str) -> str | None:
    """What in the best sentence speaks against an answer in the question's own language; None where nothing does."""
    if not judged.excerpts or not judged.standing.is_own:
        return None
    best = judged.excerpts[0]
    return doubtful(language) if read_sentence(question, best.best, best.passage).is_doubted else None


def _doubt_of_days(result: SearchResult, excerpts: Sequence[Excerpt], language: str) -> str | None:
    """That the best passage is of other days than the question speaks of, as far as it is known.

    A date in digits may be one that the text tells of: it counts only where documents are of that date.
    """
    days = result.days
    if days is None or not excerpts or not result.candidates:
        return None
    best = excerpts[0].passage
    if any(each.is_favoured for each in result.candidates if each.chunk_id == best.chunk_id):
        return None
    is_told_of = any(char.isdigit() for char in days.phrase) and not days.documents
    in_words = occurs(days.phrase, best.text, "words")
    return None if is_told_of or in_words else of_other_days(language, days.phrase)
