# mypy: ignore-errors
"""What a search found, read against its question: the best piece of each passage, and how likely it answers.

Two judgements, each 1 / (1 + exp(−Σ weight · feature)): `about`, whether these notes hold anything on the question,
and `right`, whether the pieces shown answer it. Nearness is compared with what questions about nothing here reach
(`background_nearness`), never between languages. The weights are data (the view `weights`, models `sentence`, `about`
and `right`); how they were fitted and what they reach stands in docs/answers.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from kb.answer.reading import has_strangers
from kb.domain.candidates import Candidate as Ranked
from kb.domain.passages import Passage, Sentence, TermWeight
from kb.language.words import words_of
from kb.records import NamedTuple
from kb.retrieve.signals import Signals, folded_weights, found_terms, sentence_features, sentence_signals
from kb.retrieve.weights import Weights, load_weights, shipped_weights
from kb.store.connection import Connection
from kb.store.rows import sentence_queries as queries

READ_PASSAGES = 5
"""So many of the first passages are read sentence by sentence."""

EXCERPT_CHARS = 700
"""A piece of a passage that is shown is at most so long, or one sentence."""

SECOND_SHARE = 0.1
"""A second piece belongs to an answer where its passage has at least this part of the first one's share."""

UNSURE_PIECES = 3
"""So many pieces are shown where kb is not sure."""

_COMPARED = 20
# Figures on one scale: a usual difference between two questions is about one.
_COSINE_SCALE = 10.0
_SENTENCE_SCALE = 5.0
_GOES_ON = 0.3


class Excerpt(NamedTuple):
    """The best piece of a passage: whole sentences around its best one. `score` is that one's, higher is better."""

    ranked: Ranked
    passage: Passage
    piece: Sentence
    signals: Signals
    score: float
    best: str


class Judgement(NamedTuple):
    """The pieces in the order of their passages, and what is made of them; both likelihoods in [0, 1].

    `doubt` says, in the question's language, what speaks against the best sentence all the same: that it denies what
    is asked (`kb.answer.reading`), that it is of other days. None where nothing does.
    """

    excerpts: tuple[Excerpt, ...]
    about: float
    right: float
    features: Mapping[str, float]
    version: str
    limits: Mapping[str, float]
    doubt: str | None = None

    def stands(self, precision: float) -> bool:
        """Whether so many of the answers as likely as this one are right; `limits` say from which likelihood on."""
        return not precision or (self.doubt is None and self._is_likely(precision))

    def only_doubt(self, precision: float) -> str | None:
        """The doubt, where it alone keeps the answer from standing."""
        return self.doubt if precision and self._is_likely(precision) else None

    def limit(self, precision: float) -> float | None:
        """The likelihood from which on so large a share of answers is right; None where none is known."""
        known = sorted((float(share), limit) for share, limit in self.limits.items())
        return next((limit for share, limit in known if share >= precision), None) if precision else 0.0

    def _is_likely(self, precision: float) -> bool:
        limit = self.limit(precision)
        return self.right >= (1.0 if limit is None else limit)

    def shown(self) -> tuple[Excerpt, ...]:
        """The pieces an answer is made of: the first, and the second where its passage is not much less likely."""
        first, *others = self.excerpts
        return (first, *(each for each in others[:1] if _share(each) >= SECOND_SHARE * _share(first)))

    def perhaps(self) -> tuple[Excerpt, ...]:
        """The pieces that are shown where kb is not sure."""
        return self.excerpts[:UNSURE_PIECES]

    def best_lines(self) -> dict[str, tuple[Passage, Sentence]]:
        """The first line of the best piece of each passage, by chunk."""
        found = {}
        for each in self.excerpts:
            line = each.best.splitlines()[0]
            start = max(0, each.passage.text.find(line))
            found[each.passage.chunk_id] = (each.passage, Sentence(each.passage.number, start, start + len(line), line))
        return found


class JudgingWeights(NamedTuple):
    """The models in force; `limits` are the likelihoods from which on so large a share of answers is right."""

    sentence: Weights
    about: Weights
    right: Weights
    limits: Weights


_MODELS = ("sentence", "about", "right", "right_limits")


def load_judging_weights(db: Connection) -> JudgingWeights:
    """The models in force."""
    return JudgingWeights(*(load_weights(db, model) for model in _MODELS))


def load_shipped_judging_weights(db: Connection) -> JudgingWeights:
    """The models that kb came with."""
    return JudgingWeights(*(shipped_weights(db, model) for model in _MODELS))


def read_excerpts(
    question: str,
    terms: Sequence[TermWeight],
    found: Sequence[tuple[Ranked, Passage]],
    cosines: Mapping[tuple[int, int], float],
    weights: Weights,
) -> tuple[Excerpt, ...]:
    """The best piece of each passage, in their order; none of a passage that says nothing.

    `cosines` are those of the question to the sentences, by chunk and by where the sentence begins.
    """
    rows = {passage.number: ranked for ranked, passage in found}
    scored: dict[int, list[tuple[Sentence, Signals, float]]] = {}
    for sentence, signals in sentence_signals(question, terms, [passage for _, passage in found]):
        cosine = cosines.get((rows[sentence.passage].candidate.chunk_rowid, sentence.start), 0.0)
        passage_text = next(passage.text for _, passage in found if passage.number == sentence.passage)
        features = sentence_features(passage_text, sentence, signals, cosine)
        scored.setdefault(sentence.passage, []).append((sentence, signals, weights.total(features)))
    return tuple(
        _excerpt(ranked, passage, scored[passage.number]) for ranked, passage in found if passage.number in scored
    )


def _excerpt(ranked: Ranked, passage: Passage, scored: Sequence[tuple[Sentence, Signals, float]]) -> Excerpt:
    """The best sentence with its better neighbours while the piece stays short; rather what follows than before."""
    best = max(range(len(scored)), key=lambda at: (scored[at][2], -at))
    first = last = best
    while True:
        grown = []
        if first > 0 and scored[last][0].end - scored[first - 1][0].start <= EXCERPT_CHARS:
            grown.append((scored[first - 1][2], first - 1))
        if last + 1 < len(scored) and scored[last + 1][0].end - scored[first][0].start <= EXCERPT_CHARS:
            grown.append((scored[last + 1][2] + _GOES_ON, last + 1))
        if not grown:
            break
        at = max(grown)[1]
        first, last = min(first, at), max(last, at)
    start, end = scored[first][0].start, scored[last][0].end
    piece = Sentence(passage.number, start, end, passage.text[start:end])
    return Excerpt(ranked, passage, piece, scored[best][1], scored[best][2], scored[best][0].text)


def judge(
    question: str,
    excerpts: tuple[Excerpt, ...],
    ranked: Sequence[Ranked],
    terms: Sequence[TermWeight],
    background: Mapping[tuple[str, str], tuple[float, float]],
    weights: JudgingWeights,
) -> Judgement:
    """What is made of the pieces of a question; nothing likely where there are none.

    `background` is mean and spread of what questions about nothing here reach, by channel and language of the passages.
    """
    version = f"{weights.about.version}/{weights.right.version}"
    if not excerpts:
        return Judgement((), 0.0, 0.0, {}, version, weights.limits.values)
    features = question_features(question, excerpts, ranked, terms, background)
    return Judgement(
        excerpts,
        likelihood(weights.about, features),
        likelihood(weights.right, features),
        features,
        version,
        weights.limits.values,
    )


def question_features(
    question: str,
    excerpts: Sequence[Excerpt],
    ranked: Sequence[Ranked],
    terms: Sequence[TermWeight],
    background: Mapping[tuple[str, str], tuple[float, float]],
) -> dict[str, float]:
    """What is weighed of a question whose best passage is that of the first excerpt."""
    best = excerpts[0]
    candidate, read = best.ranked.candidate, best.ranked.read
    logits = sorted((each.read.logit for each in ranked if each.read), reverse=True)
    words = [each.candidate.lexical_share for each in ranked if each.candidate.is_own]
    nearest = [each.read.sentence for each in ranked if each.read and each.candidate.is_own == candidate.is_own]
    cosine = candidate.vector_score or 0.0
    return {
        "bias": 1.0,
        "margin": logits[0] - _usual(logits) if logits else 0.0,
        "share": sum(_share(each) for each in excerpts if each.passage.doc_id == best.passage.doc_id),
        "cosine": cosine * _COSINE_SCALE,
        "nearness": _standing(background, "passage", candidate.lang, cosine),
        "sentence": ((read.sentence if read else 0.0) - _usual(sorted(nearest, reverse=True))) * _SENTENCE_SCALE,
        "bigrams": best.signals.bigrams,
        "missing": _missing(terms, best.passage),
        "strangers": float(has_strangers(question, best.passage)),
        "other": float(not candidate.is_own),
        "most_words": max(words, default=0.0),
    }


def _usual(falling: Sequence[float]) -> float:
    """The mean of the 2nd to 20th; of one alone itself, 0 of none."""
    compared = falling[1:_COMPARED] or falling
    return sum(compared) / len(compared) if compared else 0.0


def _missing(terms: Sequence[TermWeight], passage: Passage) -> float:
    """How rare the rarest term is that neither the passage nor its headings have, as a part of the rarest of all."""
    weights = folded_weights(terms)
    here = words_of(" ".join((passage.title, *passage.heading_path, passage.text)))
    held = found_terms(here, weights)
    rarest = max(weights.values(), default=0.0)
    return max((idf for term, idf in weights.items() if term not in held), default=0.0) / rarest if rarest else 0.0


def _share(excerpt: Excerpt) -> float:
    return 0.0 if excerpt.ranked.read is None else excerpt.ranked.read.share


def _standing(
    background: Mapping[tuple[str, str], tuple[float, float]], channel: str, lang: str, cosine: float
) -> float:
    """By how many spreads a cosine stands above what questions about nothing here reach."""
    mean, spread = background.get((channel, lang)) or background.get((channel, "en")) or (cosine, 1.0)
    return max(-4.0, min(8.0, (cosine - mean) / max(spread, 1e-3)))


def likelihood(weights: Weights, features: Mapping[str, float]) -> float:
    """1 / (1 + exp(−Σ weight · feature))."""
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, weights.total(features)))))


def load_background(db: Connection, query_lang: str) -> dict[tuple[str, str], tuple[float, float]]:
    """Mean and spread of what questions of a language about nothing here reach, by channel and language of passages."""
    rows = queries.select_background(db, query_lang=query_lang) or queries.select_background(db, query_lang="en")
    return {(row.channel, row.lang): (row.mean, row.spread) for row in rows}
