"""Judges search results against the question: the best piece of each passage, and how likely it answers.

Two judgements, each 1 / (1 + exp(−Σ weight · feature)): `about`, whether these notes hold anything on the question,
and `right`, whether the pieces shown answer it. The weights are data (`data/weights.tsv`): one pair of models where a
judge has read the first passage, one for words alone; benchmarks/RESULTS.md describes the fit and its figures. A doubt
is a sign in the best sentence against an answer: another name or number, a denial, an opposite (docs/answers.md).
"""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kb.answer.pieces import Excerpt, folded_weights, found_terms
from kb.answer.questions import names_topic
from kb.answer.words import (
    Words,
    carried,
    denies,
    folded_term,
    is_denied,
    says_korean_opposite,
    says_opposite,
    words_of,
)
from kb.domain.answers import AnswerState, Channel, Evidence
from kb.domain.search import Passage, RetrievalDetail, Sentence, TermWeight
from kb.language.lists import english_stopwords, pattern, words

_FILE = Path(__file__).parent / "data" / "weights.tsv"


class Fitted(NamedTuple):
    """A fitted model: its weights by feature, its other figures, its version, and the questions it was fitted on."""

    version: str
    fitted_on: str
    weights: Mapping[str, float]
    figures: Mapping[str, float]


@functools.cache
def fitted(model: str) -> Fitted:
    """The model of that name, loaded at its first use."""
    told: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        of, _, rest = line.partition("\t")
        if of == model:
            kind, name, value = rest.split("\t")
            told[kind][name] = value
    weights, figures = ({name: float(value) for name, value in told[kind].items()} for kind in ("weight", "figure"))
    return Fitted(told["about"]["version"], told["about"]["fitted_on"], weights, figures)


_PREFIX_CHARS = 5
_LISTS = "exact_words"


class Reading(NamedTuple):
    """Signs that a sentence does not answer a question.

    `inexact` counts orders, numbers and directions of the question that the sentence lacks. `strangers`: the whole
    passage lacks a name of the question. `denied`: the question negates and the sentence does not. `opposed`: a word of
    the question is missing and its opposite is in the sentence.
    """

    inexact: int
    strangers: bool
    denied: bool
    opposed: bool

    @property
    def is_doubted(self) -> bool:
        """Whether these signs rule out a sure answer."""
        return self.denied or self.inexact + self.strangers + self.opposed > 1


def read_sentence(question: str, sentence: str, passage: Passage) -> Reading:
    """Compares a sentence of a passage with a question, and returns the signs against it."""
    asked = words_of(question)
    stems = [folded_term(word) for word in asked.words]
    said = words_of(sentence)
    return Reading(
        inexact=sum(_is_exact(asked.words[at]) and stems[at] not in said.stems for at in _content(asked.words)),
        strangers=has_strangers(question, passage),
        denied=is_denied(question) and not denies(sentence),
        opposed=bool(says_opposite(stems, said.stems) or says_korean_opposite(question, sentence)),
    )


def has_strangers(question: str, passage: Passage) -> bool:
    """Whether a passage and its headings lack a name or a number of the question."""
    asked = words_of(question).words
    around = words_of(" ".join((passage.title, *passage.heading_path, passage.text)))
    return any(
        at and _is_name(asked[at]) and not _stands(folded_term(asked[at]), around.stems) for at in _content(asked)
    )


def _content(asked: Sequence[str]) -> list[int]:
    """The indices of a question's content words, of scripts that separate words by spaces."""
    named = _named_as_asked(asked)
    return [
        at
        for at, word in enumerate(asked)
        if _is_latin(word) and word.lower() not in english_stopwords() and at not in named
    ]


def _named_as_asked(asked: Sequence[str]) -> frozenset[int]:
    """The indices of the two words after each "what", "which", "whose" and "how": they name the kind of answer."""
    return frozenset(
        at + ahead for at, word in enumerate(asked) if word.lower() in words(_LISTS, "asking") for ahead in (1, 2)
    )


def _stands(stem: str, stems: Collection[str]) -> bool:
    """Whether `stems` contain a stem, or another stem with the same beginning: govern, government."""
    return stem in stems or (
        len(stem) >= _PREFIX_CHARS and any(other.startswith(stem[:_PREFIX_CHARS]) for other in stems)
    )


def _is_exact(word: str) -> bool:
    lowered = word.lower()
    return pattern(_LISTS, "exact").fullmatch(lowered) is not None and lowered not in words(_LISTS, "no_superlative")


def _is_name(word: str) -> bool:
    return word[0].isupper() or word[0].isdigit()


def _is_latin(word: str) -> bool:
    return not any(char >= "\u1100" for char in word)


UNSURE_PIECES = 3
"""How many places are shown where kb is not sure."""

SECOND_SHARE = 0.95
"""An answer includes a second piece where its passage has at least this part of the first one's score."""

# An unsure answer shows no passage that scores so much less than the first.
_FAR = 0.2
# A refusal names a place only where the judge's logit is at least this.
_NEAR_LOGIT = -2.5

_COMPARED = 20
_SAYS_THE_SAME = 0.8


class Standing(NamedTuple):
    """How a passage compares with the other hits.

    `words` is the share of the question's words that it contains, `lead` that share minus the mean of the 2nd to 20th
    hit, `token_lead` the same for the score by tokens; `token_lead` is 0 if passages have no tokens.
    """

    words: float
    lead: float
    token_lead: float
    is_own: bool


class Judgement(NamedTuple):
    """How likely passages of notes, or source code, answer a question, and what speaks against it.

    `limits` are fitted: the likelihood from which a share of the answers is right, by that share. None: the likelihood
    is that share itself. `excerpts` are of notes, in the order of their passages. `doubt` says, in the question's
    language, why the best place may still be wrong: it denies what is asked, is about other days, or lacks what is
    asked for; None without one. `other` is a place that gives a different answer, None if there is none.
    """

    evidence: Evidence
    limits: Mapping[str, float] | None = None
    excerpts: tuple[Excerpt, ...] = ()
    doubt: str | None = None
    other: Excerpt | None = None
    names_topic: bool = False

    def state(self, gate: float, precision: float) -> tuple[AnswerState, str | None]:
        """Whether this is enough for a sure, an unsure or no answer, and the doubt that alone keeps it from being sure.

        A sure answer is so likely that at least the share `precision` is right, and the notes hold something on the
        question with at least that likelihood, also without words that name a topic; 0 takes every answer for sure.
        """
        if self.evidence.value < gate:
            return "refused", None
        limit = self.limit(precision)
        is_held = self.names_topic or self.evidence.value >= precision
        if not is_held or (self.evidence.right or 0.0) < (1.0 if limit is None else limit):
            return "unsure", None
        doubt = self.doubt if precision else None
        return "answered" if doubt is None else "unsure", doubt

    def limit(self, precision: float) -> float | None:
        """The lowest likelihood at which the share `precision` of answers is right; None if no fitted limit is that."""
        if self.limits is None or not precision:
            return precision
        known = sorted((float(share), limit) for share, limit in self.limits.items())
        return next((limit for share, limit in known if share >= precision), None)

    def shown(self) -> tuple[Excerpt, ...]:
        """The excerpts that a sure answer shows: the first, and perhaps the pieces of a second.

        The second is the place that answers differently. Without such a place it is the next excerpt, if its passage
        scores nearly as high as the first and says something that the first does not.
        """
        first, *others = self.excerpts
        if self.other is not None:
            return first, self.other.alone()
        least = first.passage.score * SECOND_SHARE
        said = words_of(first.passage.text)
        return (
            first,
            *(
                each.alone()
                for each in others[:1]
                if each.passage.score >= least and carried(words_of(each.best.text), said) < _SAYS_THE_SAME
            ),
        )

    def perhaps(self) -> tuple[Excerpt, ...]:
        """The excerpts that an unsure answer shows: the first, and the pieces of further ones that are near and add
        something.
        """
        first, *others = self.excerpts
        if self.other is not None:
            others.sort(key=lambda each: each is not self.other)
        shown, said = [first], [_folded(first.text())]
        for each in others:
            is_far = each is not self.other and _is_far(each.passage, first.passage)
            if is_far or len(shown) == UNSURE_PIECES or any(_folded(each.best.text) in text for text in said):
                continue
            shown.append(each.alone())
            said.append(_folded(shown[-1].text()))
        return tuple(shown)

    def near(self) -> frozenset[str] | None:
        """The ids of the chunks that a judge has read and found close to an answer; None if no judge has read any."""
        read = [(each.passage.chunk_id, each.logit) for each in self.excerpts if each.logit is not None]
        return frozenset(chunk for chunk, logit in read if logit >= _NEAR_LOGIT) if read else None

    def best_lines(self) -> dict[str, tuple[Passage, Sentence]]:
        """The first line of each passage's best sentence, by chunk id."""
        found = {}
        for each in self.excerpts:
            line, start = each.best.text.splitlines()[0], each.best.start
            found[each.passage.chunk_id] = (each.passage, Sentence(each.passage.number, start, start + len(line), line))
        return found


def _is_far(passage: Passage, first: Passage) -> bool:
    """Whether a passage scores far less than the first by late interaction; other scores are not compared."""
    return {passage.score_kind, first.score_kind} == {"late"} and first.score - passage.score >= _FAR


def _folded(text: str) -> str:
    return " ".join(text.split())


def standing(best: RetrievalDetail, found: Sequence[RetrievalDetail]) -> Standing:
    """Compares the scores of a passage, one of the first hits, with those of the other hits."""
    words, by_tokens = best.lexical_share or 0.0, best.late_score
    lead = words - _usual([each.lexical_share or 0.0 for each in found], 0.0)
    scores = [each.late_score for each in found if each.late_score is not None]
    token_lead = 0.0 if by_tokens is None else by_tokens - _usual(scores, by_tokens)
    return Standing(words, lead, token_lead, bool(best.is_own))


def _usual(scores: Sequence[float], alone: float) -> float:
    """The mean of the 2nd to 20th highest score; `alone` if there are fewer than two scores."""
    compared = sorted(scores, reverse=True)[1:_COMPARED]
    return sum(compared) / len(compared) if compared else alone


def judge(
    question: str,
    terms: Sequence[TermWeight],
    excerpts: tuple[Excerpt, ...],
    best: Standing,
    is_undated: bool = False,
) -> Judgement:
    """Judges the excerpts found for a question, by words alone if no judge model has read them.

    `best` compares the first excerpt's passage with other hits. `is_undated`: the question names days relative to
    today, but no document is dated so. Without excerpts both likelihoods are 0.
    """
    logit = excerpts[0].logit if excerpts else None
    about, right = (fitted(f"{model}.{'words' if logit is None else 'read'}") for model in ("about", "right"))
    features = question_features(question, terms, excerpts[0], best, is_undated) if excerpts else {}
    likely, is_right = (likelihood(model, features) if excerpts else 0.0 for model in (about, right))
    channel: Channel = "lexical" if logit is None else "read"
    version = f"{about.version}/{right.version}"
    evidence = Evidence(likely, channel, version, best.words, best.lead, logit, is_right)
    is_topic = names_topic(question)
    if is_topic and excerpts:
        lacked = [_missing(question, terms, each.passage) for each in excerpts]
        excerpts = tuple(each for each, lack in zip(excerpts, lacked, strict=True) if lack <= lacked[0])
    return Judgement(evidence, right.figures, excerpts, names_topic=is_topic)


def question_features(
    question: str, terms: Sequence[TermWeight], excerpt: Excerpt, best: Standing, is_undated: bool
) -> dict[str, float]:
    """The features of a question and its best passage, by name."""
    passage = excerpt.passage
    return {
        "bias": 1.0,
        "lead": best.lead,
        "token_lead": best.token_lead,
        "words": best.words,
        "missing": _missing(question, terms, passage),
        "strangers": float(has_strangers(question, passage)),
        "other": float(not best.is_own),
        "read": excerpt.logit or 0.0,
        "undated": float(is_undated),
    }


def _missing(question: str, terms: Sequence[TermWeight], passage: Passage) -> float:
    """The rarity of the rarest term that the passage and its headings lack, relative to the rarest of all.

    A syllable that the index cut out of a word (애 of 응애) is held where the word is written up to it.
    """
    weights = folded_weights(terms)
    here = words_of(" ".join((passage.title, *passage.heading_path, passage.text)))
    held = found_terms(here, weights)
    asked = words_of(question).words
    lacked = {term: idf for term, idf in weights.items() if term not in held and not _is_written(term, asked, here)}
    rarest = max(weights.values(), default=0.0)
    return max(lacked.values(), default=0.0) / rarest if rarest else 0.0


def _is_written(term: str, asked: Sequence[str], text: Words) -> bool:
    """Whether a text has a word of the question up to a syllable inside it."""
    return len(term) == 1 and any(term in word[1:] and word[: word.index(term, 1) + 1] in text.folded for word in asked)


def likelihood(model: Fitted, features: Mapping[str, float]) -> float:
    """The likelihood 1 / (1 + exp(−Σ weight · feature))."""
    z = sum(model.weights.get(name, 0.0) * value for name, value in features.items())
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, z))))
