"""What kb finds for the questions of a set, and what it answers without a model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from benchmarks.knowledge_base import KnowledgeBase
from benchmarks.question_sets import Asked, QuestionSet
from benchmarks.scoring import score_one
from kb.domain.answers import Answer
from kb.domain.filters import SearchFilters
from kb.domain.run_handle import RunHandle
from kb.domain.search import SearchQuery
from kb.operations.ask.ask import answer_question
from kb.operations.ask.findings import AskRequest
from kb.operations.opening.base import open_base
from kb.operations.search.search import search

FIRST = 10
_FOUND = 20  # a twin is looked for among so many


class Found(NamedTuple):
    """A question with the documents of its hits, best first."""

    asked: Asked
    paths: tuple[str, ...]

    @property
    def figures(self) -> tuple[float, float, float]:
        """hit@1 and hit@3 of passages, nDCG@10 of the documents in the order of their first passage."""
        right = [path in self.asked.files for path in self.paths]
        graded = {path: int(grade) for path, grade in self.asked.files.items()}
        ndcg = score_one(graded, list(dict.fromkeys(self.paths[:FIRST]))).ndcg_at_10
        return float(any(right[:1])), float(any(right[:3])), ndcg

    @property
    def is_above_twin(self) -> bool | None:
        """Whether its document stands above the one that differs in what is asked; None where neither is found."""
        own = [path in self.asked.files for path in self.paths]
        if True not in own and self.asked.twin not in self.paths:
            return None
        return True in own and (
            self.asked.twin not in self.paths or own.index(True) < self.paths.index(self.asked.twin)
        )


_DIFFER = re.compile(r"\bdiffer|disagree|서로 다|엇갈")
"""What kb itself says where places differ."""


class Answered(NamedTuple):
    """A question with the state of its answer, and whether one of the pieces shown is right.

    `shown`: what is quoted, below the labels of its places; `told`: whether kb itself says that places differ.
    """

    asked: Asked
    state: str
    right: bool
    shown: str = ""
    told: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether all that the question asks for is shown."""
        return self.asked.answerable and all(re.search(must, self.shown) for must in self.asked.must)

    @property
    def has_other(self) -> bool:
        """Whether the value of something else is shown."""
        return bool(self.asked.other and re.search(self.asked.other, self.shown))


class Shares(NamedTuple):
    """Of answerable questions; `precision` of those answered, 1 where none was."""

    answered_right: float
    answered_wrong: float
    unsure_right: float
    unsure_wrong: float
    refused: float
    precision: float


def ask_all(base: KnowledgeBase, questions: QuestionSet, *, with_answers: bool) -> tuple[list[Found], list[Answered]]:
    """Every question of a set: what is found for it, and its answer without a model."""
    found, answered = [], []
    with open_base(base.config, many=True) as session, session.reading() as opened:
        for each in questions.questions:
            result = search(opened, SearchQuery(each.text, "hybrid", _FOUND, SearchFilters(as_text=True), judged=True))
            found.append(Found(each, tuple(hit.doc_path for hit in result.hits)))
            if with_answers:
                request = AskRequest(each.text, "hybrid", FIRST, provider="extractive", keep=False)
                answer = answer_question(opened, request, RunHandle())
                shown = "\n".join([*(place.label for place in answer.citations if place.marker), answer.text])
                told = [*answer.notes, *(span.text for span in answer.spans if span.kind == "plain")]
                answered.append(
                    Answered(each, answer.state, is_right(each, answer), shown, any(map(_DIFFER.search, told)))
                )
    return found, answered


def is_right(asked: Asked, answer: Answer) -> bool:
    """Whether what is shown of a place answers; of a set without judged documents, whether anything does."""
    if not asked.files:
        return asked.answerable
    paths = {hit.chunk_id: hit.doc_path for hit in answer.retrieval.hits}
    shown, pieces = answer.text, []
    for each in answer.citations:
        if each.marker:
            text, _, shown = shown.partition(each.marker)
            pieces.append((paths[each.chunk_id], text))
    return asked.is_answered_by(pieces)


def shares(answered: Iterable[Answered]) -> Shares:
    """What became of the answerable questions."""
    rows = [each for each in answered if each.asked.answerable]
    counts = Counter((each.state, each.right) for each in rows)
    stood = counts["answered", True] + counts["answered", False]
    refused = counts["refused", True] + counts["refused", False]
    return Shares(
        answered_right=counts["answered", True] / len(rows),
        answered_wrong=counts["answered", False] / len(rows),
        unsure_right=counts["unsure", True] / len(rows),
        unsure_wrong=counts["unsure", False] / len(rows),
        refused=refused / len(rows),
        precision=counts["answered", True] / stood if stood else 1.0,
    )


def states(answered: Sequence[Answered]) -> tuple[float, float, float]:
    """The shares answered, unsure and refused."""
    counts = Counter(each.state for each in answered)
    answers, unsure, refused = (counts[state] / len(answered) for state in ("answered", "unsure", "refused"))
    return answers, unsure, refused
