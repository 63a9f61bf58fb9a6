"""Candidates in the order of a ranker that reads them: their sentences and headings beside every channel's figures.

A question is nearest to passages of its own language in every channel. So a figure counts by how far it is above
those of the other candidates in the passage's own language. Which of two languages has the answer is told by the
encoder of sentences, to which they are alike: by how far its usual figures for one are above those for the other
(`_leads`). Where few of the question's words are found, meaning counts more (`…_by_meaning`). Then the first passages
in the question's own language are put in order once more, by their sentences (`kb.retrieve.second_look`). The weights
are data (the view `weights`, models `rank`, `sentence` and `look`); docs/retrieval.md says how they were fitted and
what they reach.
"""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Mapping, Sequence

from kb.domain.candidates import Candidate, Ranked, ReadFigures
from kb.domain.passages import TermWeight
from kb.domain.reranking import Question
from kb.domain.search import QueryVectors
from kb.language.words import words_of
from kb.retrieve.second_look import LOOKED, looked_through
from kb.retrieve.signals import folded_weights, found_terms
from kb.retrieve.weights import Weights, load_weights
from kb.store.connection import Connection
from kb.store.rows.sentence_queries import ReadCandidate, read_candidates, read_sentences

READ_DEPTH = 20
"""So many candidates of each channel and language are read: more change little (docs/retrieval.md)."""

# Figures on one scale: a usual difference between two passages is about one.
_SCALES = {"e5": 20.0, "use": 5.0, "sentence": 5.0, "heading": 5.0, "title": 3.0}
_WORDS_SCALE = 4.0
# Those of the encoder of sentences, which puts what means the same in two languages close together.
_ALIKE = ("use", "sentence", "heading")
# What a passage's figure is compared with: the mean of so many next ones of its language.
_COMPARED = 20
_INT8 = 127


class SentenceReader:
    """The reranker `reading`: one statement for the cosines, a weighted sum of the figures for the order."""

    def __init__(self, db: Connection) -> None:
        self._db = db
        self._rank, self._sentence, self._look = (load_weights(db, model) for model in ("rank", "sentence", "look"))
        self._days = load_weights(db, "days")

    @property
    def name(self) -> str:
        """`reading` with the versions of its weights."""
        weights = (self._rank, self._sentence, self._look, self._days)
        return "reading@" + "/".join(each.version for each in weights)

    def rerank(self, question: Question, candidates: Sequence[Candidate], vectors: QueryVectors) -> list[Ranked]:
        """All of the candidates, the one most likely to answer first; ties in the fusion rule's order."""
        if not candidates or vectors.secondary is None:
            return [Ranked(candidate) for candidate in candidates]
        packed = int8_vector(vectors.secondary)
        rows = read_candidates(
            self._db,
            rowids_json=json.dumps([candidate.chunk_rowid for candidate in candidates]),
            question=vectors.secondary,
            question_int8=packed,
        )
        features = candidate_features(question, candidates, rows)
        if question.favoured:
            for candidate, figures in zip(candidates, features, strict=True):
                figures["favoured"] = float(candidate.doc_id in question.favoured)
        weights = self._rank._replace(values={**self._rank.values, **self._days.values})
        ranked = [
            each._replace(is_favoured=each.candidate.doc_id in question.favoured)
            for each in ranked_by(weights, candidates, rows, features)
        ]
        first = ranked[:LOOKED]
        cosines = sentence_cosines(self._db, [each.candidate.chunk_rowid for each in first], packed)
        return [*looked_through(question, first, cosines, self._sentence, self._look), *ranked[LOOKED:]]


def ranked_by(
    weights: Weights,
    candidates: Sequence[Candidate],
    rows: Sequence[ReadCandidate],
    features: Sequence[Mapping[str, float]],
) -> list[Ranked]:
    """The candidates by the weighted sum of their features, with what they were read by."""
    logits = [weights.total(each) for each in features]
    highest = max(logits, default=0.0)
    total = sum(math.exp(logit - highest) for logit in logits)
    ranked = [
        Ranked(candidate, _figures(row, logit, math.exp(logit - highest) / total))
        for candidate, row, logit in zip(candidates, rows, logits, strict=True)
    ]
    return sorted(ranked, key=lambda each: (-(each.read.logit if each.read else 0.0), each.candidate.rank))


def sentence_cosines(db: Connection, rowids: Sequence[int], question_int8: bytes) -> dict[tuple[int, int], float]:
    """The cosine of the question to each sentence of some chunks, by chunk and by where the sentence begins."""
    rows = read_sentences(db, rowids_json=json.dumps(list(rowids)), question_int8=question_int8)
    return {(row.chunk_rowid, row.start_char): row.cosine for row in rows}


def int8_vector(vector: bytes) -> bytes:
    """A float32 vector as int8, scaled so that its largest component is 127, as sentences are kept."""
    values = array("f", vector)
    scale = _INT8 / (max(map(abs, values)) or 1.0)
    return array("b", [round(value * scale) for value in values]).tobytes()


def candidate_features(
    question: Question, candidates: Sequence[Candidate], read: Sequence[ReadCandidate]
) -> list[dict[str, float]]:
    """What is weighed of each candidate, in their order: `own.…` in the question's language, `other.…` in another."""
    figures = {
        "e5": _filled([candidate.vector_score for candidate in candidates]),
        "use": _filled([row.passage for row in read]),
        "sentence": [max(row.sentence or 0.0, 0.0) for row in read],
        "heading": _filled([row.heading for row in read]),
    }
    is_own = [bool(candidate.is_own) for candidate in candidates]
    words = [candidate.lexical_share * _WORDS_SCALE for candidate in candidates]
    titles = _titles(question.terms, candidates)
    best_words = max((each.lexical_share for each in candidates if each.is_own), default=0.0)
    by_meaning = 1 - min(1.0, best_words)
    scaled = {name: [value * _SCALES[name] for value in values] for name, values in figures.items()}
    usual = {name: _usual_by_side(values, is_own) for name, values in scaled.items()}
    margins = {
        name: [value - usual[name][own] for value, own in zip(values, is_own, strict=True)]
        for name, values in scaled.items()
    }
    embedded = {own for row, own in zip(read, is_own, strict=True) if row.passage is not None}
    leads = _leads(usual) if len(embedded) > 1 else {}
    found: list[dict[str, float]] = []
    for at, own in enumerate(is_own):
        side = "own" if own else "other"
        features = {f"{side}.{name}": values[at] for name, values in margins.items()}
        features |= {f"{side}.{name}_by_meaning": by_meaning * margins[name][at] for name in ("e5", "use", "sentence")}
        features[f"{side}.words"] = words[at]
        features[f"{side}.title"] = titles[at] * _SCALES["title"]
        if not own:
            features |= {"other": 1.0, "other_by_meaning": by_meaning, **leads}
        found.append(features)
    return found


def _titles(terms: Sequence[TermWeight], candidates: Sequence[Candidate]) -> list[float]:
    """The share of the question's terms, weighed by their rarity, in the title of each candidate."""
    weights = folded_weights(terms)
    total = sum(weights.values()) or 1.0
    titles = {title: words_of(title) for title in {candidate.title for candidate in candidates}}
    shares = {
        title: sum(weights[term] for term in sorted(found_terms(words, weights))) / total
        for title, words in titles.items()
    }
    return [shares[candidate.title] for candidate in candidates]


def _usual_by_side(values: Sequence[float], is_own: Sequence[bool]) -> dict[bool, float]:
    """The mean of the 2nd to 20th best value in the question's own language, and in others."""
    return {
        side: _usual(sorted((value for value, own in zip(values, is_own, strict=True) if own is side), reverse=True))
        for side in set(is_own)
    }


def _leads(usual: Mapping[str, Mapping[bool, float]]) -> dict[str, float]:
    """How far the usual figures of another language are above those of the question's own, for figures alike in both.

    A few notes in the question's language, none of which is about what is asked, are as far apart from each other as
    passages that are: their margins alone say nothing against them.
    """
    return {f"other.{name}_lead": usual[name][False] - usual[name][True] for name in _ALIKE}


def _usual(falling: Sequence[float]) -> float:
    compared = falling[1:_COMPARED] or falling
    return sum(compared) / len(compared)


def _filled(values: Sequence[float | None]) -> list[float]:
    """The values; where one is missing (no vector yet) the lowest of the others."""
    lowest = min((value for value in values if value is not None), default=0.0)
    return [lowest if value is None else value for value in values]


def _figures(row: ReadCandidate, logit: float, share: float) -> ReadFigures:
    return ReadFigures(row.passage or 0.0, row.heading or 0.0, row.sentence or 0.0, logit, share)
