# mypy: ignore-errors
"""What kb's own search finds for the questions of a set, with all that reading and judging weigh of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from kb.retrieve.reader import candidate_features, int8_vector, ranked_by, sentence_cosines
from kb.retrieve.second_look import LOOKED, look_features, looked_through

from benchmarks.knowledge_base import KnowledgeBase
from benchmarks.question_sets import Asked, QuestionSet
from benchmarks.weight_fitting import Fitted
from kb.answer.judging import READ_PASSAGES, Excerpt, load_background, question_features, read_excerpts
from kb.domain.candidates import Candidate, Ranked
from kb.domain.passages import Passage, TermWeight
from kb.domain.reranking import Question
from kb.domain.search import RetrievalDetail, SearchFilters, SearchQuery
from kb.language.detect import query_language
from kb.language.sentences import sentence_ranges
from kb.operations.search.search import search_in, vector_source
from kb.operations.session.session import open_session
from kb.retrieve.signals import sentence_features, sentence_signals, term_weights
from kb.retrieve.weights import Weights
from kb.store.rows.sentence_queries import ReadCandidate, read_candidates

Background = Mapping[tuple[str, str], tuple[float, float]]
"""Mean and spread of what questions about nothing here reach, by channel and language of the passages."""


class Found(NamedTuple):
    """A question of a set with every candidate of its search, in the fusion rule's order, and what is weighed."""

    set_name: str
    asked: Asked
    candidates: tuple[Candidate, ...]
    figures: tuple[ReadCandidate, ...]
    features: tuple[Mapping[str, float], ...]
    terms: tuple[TermWeight, ...]
    cosines: Mapping[tuple[int, int], float]
    background: Background

    @property
    def right(self) -> list[bool]:
        """Which candidates are of a document that answers."""
        return [candidate.workspace_path in self.asked.files for candidate in self.candidates]

    @property
    def question(self) -> Question:
        """What was read against the candidates."""
        return Question(self.asked.text, self.terms)


class Read(NamedTuple):
    """The first passages of a question in the order of some weights, and every sentence of theirs."""

    found: Found
    ranked: Sequence[Ranked]
    passages: Sequence[tuple[Ranked, Passage]]
    sentences: Sequence[Mapping[str, float]]
    holds: Sequence[bool]

    def excerpts(self, weights: Fitted) -> tuple[Excerpt, ...]:
        """The best piece of each passage by the weights of sentences."""
        asked, cosines = self.found.asked, self.found.cosines
        return read_excerpts(asked.text, self.found.terms, self.passages, cosines, Weights("fitted", weights))

    def judged(self, excerpts: tuple[Excerpt, ...]) -> dict[str, float]:
        """What is weighed of the question."""
        return question_features(self.found.asked.text, excerpts, self.ranked, self.found.terms, self.found.background)


def find(base: KnowledgeBase, questions: QuestionSet) -> list[Found]:
    """Every question of a set, asked through kb's search. The knowledge base has sentence vectors."""
    rows = []
    with open_session(base.config, many=True) as session, session.reading() as opened:
        for asked in questions.questions:
            query = SearchQuery(asked.text, "hybrid", 10, SearchFilters(as_text=True))
            source = vector_source(opened, query)
            vector = None if source is None else source.sentence_vector(asked.text)
            if vector is None:
                raise SystemExit(f"{questions.name}: its sentences have no vectors")
            found = search_in(opened, query)
            candidates = tuple(sorted((each.candidate for each in found.candidates), key=lambda each: each.rank))
            rowids = [each.chunk_rowid for each in candidates]
            packed = int8_vector(vector)
            figures = read_candidates(opened.db, rowids_json=json.dumps(rowids), question=vector, question_int8=packed)
            terms = term_weights(opened.db, found.searched)
            rows.append(
                Found(
                    questions.name,
                    asked,
                    candidates,
                    tuple(figures),
                    tuple(candidate_features(Question(asked.text, terms), candidates, figures)),
                    terms,
                    sentence_cosines(opened.db, rowids, packed),
                    load_background(opened.db, query_language(asked.text)),
                )
            )
    return rows


def rank(found: Found, models: Mapping[str, Fitted]) -> list[Ranked]:
    """The candidates in the order of the models `rank` and, where there is one, `look`: as kb's own search does."""
    ranked = ranked_by(Weights("fitted", models["rank"]), found.candidates, found.figures, found.features)
    if "look" not in models:
        return ranked
    sentence, look = (Weights("fitted", models[name]) for name in ("sentence", "look"))
    return [*looked_through(found.question, ranked[:LOOKED], found.cosines, sentence, look), *ranked[LOOKED:]]


class Looked(NamedTuple):
    """What a second look weighs of the first passages in a question's own language, and which of them are right."""

    found: Found
    features: Sequence[Mapping[str, float]]
    right: Sequence[bool]


def look(found: Found, models: Mapping[str, Fitted]) -> Looked:
    """The first passages by the model `rank`, their sentences by the model `sentence`."""
    first = [each for each in rank(found, {"rank": models["rank"]})[:LOOKED] if each.candidate.is_own]
    features = look_features(found.question, first, found.cosines, Weights("fitted", models["sentence"]))
    return Looked(found, features, [each.candidate.workspace_path in found.asked.files for each in first])


def read(found: Found, models: Mapping[str, Fitted]) -> Read:
    """The first passages in the order of the models, and which of their sentences hold the answer."""
    ranked = rank(found, models)
    spoken = (each for each in ranked if next(sentence_ranges(each.candidate.text), None) is not None)
    passages = [
        (each, _passage(number, each.candidate)) for number, each in enumerate(islice(spoken, READ_PASSAGES), 1)
    ]
    by_number = {passage.number: (each.candidate, passage) for each, passage in passages}
    sentences, holds = [], []
    for sentence, signals in sentence_signals(found.asked.text, found.terms, [passage for _, passage in passages]):
        candidate, passage = by_number[sentence.passage]
        cosine = found.cosines.get((candidate.chunk_rowid, sentence.start), 0.0)
        sentences.append(sentence_features(passage.text, sentence, signals, cosine))
        piece = [(passage.doc_path, sentence.text)]
        holds.append(bool(found.asked.must) and found.asked.is_answered_by(piece))
    return Read(found, ranked, passages, sentences, holds)


def _passage(number: int, candidate: Candidate) -> Passage:
    """The candidate as judging sees it; nothing of a citation is weighed."""
    return Passage(
        number=number,
        chunk_id=candidate.chunk_id,
        doc_id=candidate.doc_id,
        doc_path=candidate.workspace_path,
        source_path=candidate.source_path,
        title=candidate.title,
        heading_path=tuple(json.loads(candidate.heading_path_json)),
        section_label=candidate.section_label,
        lang=candidate.lang,
        text=candidate.text,
        citation=None,  # type: ignore[arg-type]
        score=0.0,
        retrieval=RetrievalDetail("hybrid", candidate.lexical_score, None, candidate.vector_score),
    )
