"""What kb answers to the questions of a set without a model, with the weights it ships or with others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from benchmarks.knowledge_base import KnowledgeBase
from benchmarks.question_sets import Asked, QuestionSet
from benchmarks.weight_fitting import Fitted
from kb.domain.answers.answer import Answer
from kb.domain.run_handle import RunHandle
from kb.operations.ask.ask import ask
from kb.operations.ask.findings import AskRequest
from kb.operations.session.session import open_session
from kb.store.connection import open_writer, transaction


class Answered(NamedTuple):
    """A question with the state of its answer, and whether one of the pieces shown is right."""

    asked: Asked
    state: str
    right: bool


class Shares(NamedTuple):
    """Of answerable questions; `precision` of those answered, 1 where none was."""

    answered_right: float
    answered_wrong: float
    unsure_right: float
    unsure_wrong: float
    refused: float
    precision: float


@contextmanager
def fitted_weights(base: KnowledgeBase, models: Mapping[str, Fitted]) -> Iterator[None]:
    """Within, the knowledge base ranks and judges by these weights."""
    rows = [(model, name, weight) for model, weights in models.items() for name, weight in weights.items()]
    put = (
        "INSERT INTO fitted_weights (model, feature, weight, version, questions, updated_at) VALUES (?, ?, ?, ?, 0, ?)"
    )
    db = open_writer(base.config.sqlite)
    try:
        with transaction(db):
            db.executemany(put, [(*row, "others", "2000-01-01T00:00:00Z") for row in rows])
        yield
        with transaction(db):
            db.execute("DELETE FROM fitted_weights")
    finally:
        db.close()


def ask_all(base: KnowledgeBase, questions: QuestionSet) -> list[Answered]:
    """Every question of a set, answered without a model."""
    with open_session(base.config, many=True) as session:
        return [_answered(each, ask(session, _request(each), RunHandle())) for each in questions.questions]


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


def _request(asked: Asked) -> AskRequest:
    return AskRequest(asked.text, "hybrid", 10, provider="extractive", keep=False)


def _answered(asked: Asked, answer: Answer) -> Answered:
    """A set without judged documents has right answers to all of its answerable questions."""
    if not asked.files:
        return Answered(asked, answer.state, asked.answerable)
    paths = {hit.chunk_id: hit.doc_path for hit in answer.hits}
    cited = {each.marker: paths[each.chunk_id] for each in answer.citations if each.marker}
    pieces = [
        (cited[f"[{number}]"], claim.quote or "")
        for claim in answer.claims
        for number in claim.passages
        if f"[{number}]" in cited
    ]
    return Answered(asked, answer.state, asked.is_answered_by(pieces))
