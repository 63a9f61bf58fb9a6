"""What reading and judging reach by kind of question: the fusion rule, weights of other sets, the shipped ones.

"Others" are weights fitted on the other sets alone: what a new collection may expect. The shipped ones are fitted on
these questions too. `--fit FILE` writes weights fitted on all sets as the file of the view `weights`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from benchmarks.aims import answer_targets, ranking_targets
from benchmarks.asked_questions import Answered, ask_all, fitted_weights, shares, states
from benchmarks.embedded_base import embedded
from benchmarks.installed_models import CACHE, installed_models
from benchmarks.knowledge_base import KnowledgeBase
from benchmarks.measurement import Cell, Measurement, Table
from benchmarks.progress import step
from benchmarks.question_sets import NAMES, QuestionSet, question_set
from benchmarks.read_questions import Found, find, rank
from benchmarks.read_weights import Fit, Models, fit_all, write_view
from benchmarks.remembered_questions import remembered_questions
from benchmarks.scoring import score_one
from kb.domain.candidates import Candidate
from kb.operations.opening.writer import in_memory
from kb.retrieve.weights import load_weights

QUESTIONS = 600
"""So many questions of each judged set are asked, unless told otherwise; of the others all."""

RANKED = ("ask-fastapi", "notes-ko", "manual", "archive", "golden", "korquad-dev", "squad2-dev", "korquad-refusal-dev")
"""The sets that weights are fitted on; those of judging, and those whose questions say what an answer must hold."""
JUDGED = ("ask-fastapi", "notes-ko", "manual", "archive", "golden", "korquad-refusal-dev")
TOLD = ("ask-fastapi", "notes-ko", "manual", "archive")

VIEW = Path(__file__).parents[1] / "sql" / "views" / "shipped_weights.sql"
_MODELS = ("rank", "sentence", "look", "about", "right", "right_limits")
_RULES = ("fusion", "others", "shipped")
_FIGURES = ("hit@1", "hit@3", "nDCG@10")
_OTHERS_NDCG = 5  # its place among the figures of the rules
_Figures = tuple[float, float, float]


class _Base(NamedTuple):
    questions: QuestionSet
    base: KnowledgeBase


def measure(
    data: Path | None, *, questions: int = QUESTIONS, fit: Path | None = None, sets: Sequence[str] = NAMES
) -> Measurement:
    """hit@1, hit@3 and nDCG@10 by rule; the three states of answers by weights."""
    if data is None:
        raise SystemExit("reading needs --data DIR")
    with ExitStack() as opened:
        opened.enter_context(remembered_questions(installed_models() / CACHE / "questions.sqlite"))
        bases = {name: _open(opened, name, data, questions) for name in sets}
        found = {}
        for name, (asked, base) in bases.items():
            with step(f"{name}: search"):
                found[name] = find(base, asked)
        fitted = fit_all({name: rows for name, rows in found.items() if name in RANKED}, JUDGED, TOLD)
        answered = {name: _ask(bases[name], fitted, name) for name in sets if name in JUDGED}
    if fit is not None:
        write_view(fit, VIEW, fitted.whole, _label() + 1)
    ranked = _ranking(found, fitted)
    targets = (*ranking_targets(_means_of(ranked[0]), _FIGURES), *answer_targets(answered))
    return Measurement("reading", (*ranked, *_answers(answered)), targets, figures={"weights": fitted.whole})


def _means_of(ranked: Table) -> dict[str, dict[str, Sequence[float]]]:
    """The figures of the table of whole sets, by set and rule; those of the fusion rule are aimed at nothing."""
    width = len(_FIGURES)
    return {
        str(name): {
            rule: [float(cell) for cell in cells[at * width : (at + 1) * width]]
            for at, rule in enumerate(_RULES)
            if rule != "fusion"
        }
        for name, _, *cells in ranked.rows
    }


def _open(opened: ExitStack, name: str, data: Path, questions: int) -> _Base:
    asked = opened.enter_context(question_set(name, data, questions))
    return _Base(asked, opened.enter_context(embedded(asked.root, name)))


def _ask(opened: _Base, fitted: Fit, name: str) -> dict[str, list[Answered]]:
    with step(f"{name}: answers"):
        shipped = ask_all(opened.base, opened.questions)
        with fitted_weights(opened.base, fitted.by_set[name]):
            return {"others": ask_all(opened.base, opened.questions), "shipped": shipped}


def _shipped() -> Models:
    with in_memory() as db:
        return {model: dict(load_weights(db, model).values) for model in ("rank", "sentence", "look")}


def _label() -> int:
    with in_memory() as db:
        labels = [load_weights(db, model).version.rpartition("-")[2] for model in _MODELS]
    return max(int(label) for label in labels if label.isdigit())


def _ranking(found: Mapping[str, Sequence[Found]], fitted: Fit) -> tuple[Table, Table]:
    """The figures of whole sets, and by kind."""
    shipped = _shipped()
    rows: dict[tuple[str, str], list[list[_Figures]]] = {}
    for name, questions in found.items():
        others = fitted.by_set.get(name, fitted.whole)
        for each in (each for each in questions if each.asked.files):
            orders = [
                each.candidates,
                *([ranked.candidate for ranked in rank(each, weights)] for weights in (others, shipped)),
            ]
            scored = [ranking_figures(order, each.asked.files) for order in orders]
            for kind in ("", each.asked.kind):
                rows.setdefault((name, kind), []).append(scored)
    means: dict[tuple[str, str], tuple[Cell, ...]] = {key: tuple(_means(scores)) for key, scores in rows.items()}
    columns = ("questions", *(f"{rule}: {figure}" for rule in _RULES for figure in _FIGURES))
    whole: tuple[tuple[Cell, ...], ...] = tuple(
        (name, len(rows[name, kind]), *means[name, kind]) for name, kind in rows if not kind
    )
    worst = sorted((key for key in rows if key[1]), key=lambda key: (key[0], means[key][_OTHERS_NDCG]))
    by_kind: tuple[tuple[Cell, ...], ...] = tuple((*key, len(rows[key]), *means[key]) for key in worst)
    titled = ("set", "kind", *columns)
    return (
        Table("Ranked", ("set", *columns), whole),
        Table("Ranked, by kind, worst first with the weights of the others", titled, by_kind),
    )


def ranking_figures(order: Sequence[Candidate], grades: Mapping[str, float]) -> _Figures:
    """hit@1 and hit@3 of passages, nDCG@10 of the documents in the order of their first passage."""
    paths = [candidate.workspace_path for candidate in order]
    first = next((at for at, path in enumerate(paths) if path in grades), len(paths))
    found = score_one({path: int(grade) for path, grade in grades.items()}, list(dict.fromkeys(paths)))
    return float(first < 1 and bool(paths)), float(first < min(3, len(paths))), found.ndcg_at_10


def _means(scores: Sequence[Sequence[_Figures]]) -> Iterator[float]:
    for rule in zip(*scores, strict=True):
        for column in zip(*rule, strict=True):
            yield round(sum(column) / len(column), 3)


def _answers(answered: Mapping[str, Mapping[str, Sequence[Answered]]]) -> Iterator[Table]:
    columns = ("questions", "answered right", "wrong", "unsure right", "wrong", "refused", "precision")
    yield Table("Answerable questions", ("set", "weights", *columns), tuple(_states(answered, lambda each: "")))
    by_kind = sorted(_states(answered, lambda each: each.asked.kind), key=lambda row: (row[0], row[2], row[4]))
    titled = ("set", "kind", "weights", *columns)
    yield Table("Answerable questions, by kind, worst first", titled, tuple(by_kind))
    rows: list[tuple[Cell, ...]] = []
    for name, weights in answered.items():
        for label, questions in weights.items():
            nothing = [each for each in questions if not each.asked.answerable]
            for key in sorted({(each.asked.kind, each.asked.lang) for each in nothing}):
                group = [each for each in nothing if (each.asked.kind, each.asked.lang) == key]
                rows.append((name, *key, label, len(group), *(round(share, 3) for share in states(group))))
    of_states = ("set", "kind", "language", "weights", "questions", "answered", "unsure", "refused")
    yield Table("Unanswerable questions", of_states, tuple(rows))


def _states(
    answered: Mapping[str, Mapping[str, Sequence[Answered]]], group_of: Callable[[Answered], str]
) -> Iterator[tuple[Cell, ...]]:
    for name, weights in answered.items():
        for label, questions in weights.items():
            rows = [each for each in questions if each.asked.answerable]
            for group in sorted({group_of(each) for each in rows}):
                held = [each for each in rows if group_of(each) == group]
                figures = (round(share, 3) for share in shares(held))
                yield (name, *([group] if group else []), label, len(held), *figures)
