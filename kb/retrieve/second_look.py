"""The first passages in the question's own language once more: of two on a thing, the one that says what is asked.

Which language is first is settled before, by margins; a question's own words are found in its own language alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from kb.domain.candidates import Candidate, Ranked
from kb.domain.reranking import Question
from kb.records import NamedTuple
from kb.retrieve.signals import sentence_features, sentence_signals
from kb.retrieve.weights import Weights

LOOKED = 12
"""Of so many of the first passages those in the question's own language are put in order by their sentences."""


def looked_through(
    question: Question,
    ranked: Sequence[Ranked],
    cosines: Mapping[tuple[int, int], float],
    sentence: Weights,
    look: Weights,
) -> list[Ranked]:
    """Ranked candidates, those in the question's own language in the order of a second look at their sentences.

    They share out the places that they had together, each with its logit and share; the others keep theirs.
    `cosines` are those of the question to the sentences, by chunk and by where the sentence begins.
    """
    places = [at for at, each in enumerate(ranked) if each.candidate.is_own]
    looks = look_features(question, [ranked[at] for at in places], cosines, sentence)
    order = sorted(range(len(places)), key=lambda nth: (-look.total(looks[nth]), nth))
    found = list(ranked)
    for place, nth in zip(places, order, strict=True):
        found[place] = _in_place(ranked[places[nth]], ranked[place])
    return found


def look_features(
    question: Question, ranked: Sequence[Ranked], cosines: Mapping[tuple[int, int], float], weights: Weights
) -> list[dict[str, float]]:
    """What a second look weighs of each candidate: its logit, and what speaks for its best sentence."""
    passages = [_Looked(number, each.candidate) for number, each in enumerate(ranked)]
    best: dict[int, float] = {}
    for sentence, signals in sentence_signals(question.text, question.terms, passages):
        candidate = passages[sentence.passage].candidate
        cosine = cosines.get((candidate.chunk_rowid, sentence.start), 0.0)
        score = weights.total(sentence_features(candidate.text, sentence, signals, cosine))
        best[sentence.passage] = max(score, best.get(sentence.passage, score))
    lowest = min(best.values(), default=0.0)
    return [
        {"logit": each.read.logit if each.read else 0.0, "sentence": best.get(number, lowest)}
        for number, each in enumerate(ranked)
    ]


class _Looked(NamedTuple):
    """A candidate as its sentences are read."""

    number: int
    candidate: Candidate

    @property
    def title(self) -> str:
        return self.candidate.title

    @property
    def heading_path(self) -> tuple[str, ...]:
        return tuple(json.loads(self.candidate.heading_path_json))

    @property
    def text(self) -> str:
        return self.candidate.text

    @property
    def cosine(self) -> float:
        return self.candidate.vector_score or 0.0


def _in_place(each: Ranked, of: Ranked) -> Ranked:
    """A candidate in the place of another: its own cosines, that one's logit and share."""
    if each.read is None or of.read is None:
        return each
    return each._replace(read=each.read._replace(logit=of.read.logit, share=of.read.share))
