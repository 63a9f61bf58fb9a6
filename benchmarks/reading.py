"""What is found and answered, by set and kind of question: the order of hits, and the three states of answers.

The questions of the four vaults are in an owner's own words; those of `held-out` are asked over all passages of three
question files together, two of whose twins differ in what is asked. Judged sets are asked in even steps. `pooled` is
over the four vaults, with a bootstrap interval. RESULTS.md says on which sets the judge was fitted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.aims import ACROSS, PARAPHRASES, POOLED, VAULTS, answer_targets, ranking_targets
from benchmarks.asked_questions import Answered, Found, ask_all, shares, states
from benchmarks.embedded_base import embedded
from benchmarks.measurement import Cell, Measurement, Table
from benchmarks.progress import step
from benchmarks.question_sets import HELD_OUT, NAMES, question_set
from kb.eval.comparison import paired_difference

QUESTIONS = 600
"""So many questions of each judged set are asked, unless told otherwise; of the others all."""

JUDGED = (*VAULTS, "golden", "korquad-refusal-dev")
"""The sets whose questions are answered."""

_FIGURES = ("hit@1", "hit@3", "nDCG@10")
_SHARES = ("questions", "answered right", "wrong", "unsure right", "wrong", "refused", "precision")


def measure(data: Path | None, *, questions: int = QUESTIONS, sets: Sequence[str] = NAMES) -> Measurement:
    """The figures of every set, as a whole and by kind; `questions` of each judged set, 0 for all of them."""
    if data is None:
        raise SystemExit("reading needs --data DIR")
    found: dict[str, list[Found]] = {}
    answered: dict[str, list[Answered]] = {}
    for name in sets:
        with question_set(name, data, questions) as asked, embedded(asked.root, name) as base:
            with step(f"{name}: {len(asked.questions)} questions"):
                found[name], answers = ask_all(base, asked, with_answers=name in JUDGED)
            if answers:
                answered[name] = answers
    means = {(name, kind): (count, *figures) for name, kind, count, *figures in _ranked(found)}
    pooled = list(_pooled(found))
    targets = (*ranking_targets(means, pooled), *answer_targets(answered))
    tables = (
        Table("Found", ("set", "kind", "questions", *_FIGURES), tuple((*key, *row) for key, row in means.items())),
        Table("Pooled, hit@1", ("questions", "", "count", "hit@1", "95 % interval"), tuple(pooled)),
        Table("Answerable questions", ("set", "kind", *_SHARES), tuple(_answers(answered))),
        Table(
            "Unanswerable questions",
            ("set", "kind", "language", "questions", "answered", "unsure", "refused"),
            tuple(_unanswerable(answered)),
        ),
    )
    return Measurement("reading", tables, targets)


def _ranked(found: Mapping[str, Sequence[Found]]) -> Iterator[tuple[str, str, int, float, float, float]]:
    """Set, kind (`all` first), questions, and the means of the figures."""
    for name, rows in found.items():
        judged = [each for each in rows if each.asked.files]
        for kind in ("all", *sorted({each.asked.kind for each in judged})):
            group = [each.figures for each in judged if kind in ("all", each.asked.kind)]
            if group:
                hit1, hit3, ndcg = (round(sum(column) / len(group), 3) for column in zip(*group, strict=True))
                yield name, kind, len(group), hit1, hit3, ndcg


def _pooled(found: Mapping[str, Sequence[Found]]) -> Iterator[tuple[str, str, int, float, str]]:
    """Paraphrases and questions in the other language over the four vaults, and twins that are told apart."""
    four = [each for name in VAULTS for each in found.get(name, ()) if each.asked.files]
    above = [each.is_above_twin for each in found.get(HELD_OUT, ()) if each.asked.twin]
    groups = [
        (POOLED, "paraphrase", [each.figures[0] for each in four if each.asked.kind in PARAPHRASES]),
        (POOLED, "the other language", [each.figures[0] for each in four if each.asked.kind in ACROSS]),
        (HELD_OUT, "above its twin", [float(each) for each in above if each is not None]),
    ]
    for label, kind, values in groups:
        if values:
            known = paired_difference(values)
            yield label, kind, len(values), round(known.mean, 3), f"{known.low:.2f} to {known.high:.2f}"


def _answers(answered: Mapping[str, Sequence[Answered]]) -> Iterator[tuple[Cell, ...]]:
    for name, rows in answered.items():
        answerable = [each for each in rows if each.asked.answerable]
        for kind in ("all", *sorted({each.asked.kind for each in answerable})):
            group = [each for each in answerable if kind in ("all", each.asked.kind)]
            yield (name, kind, len(group), *(round(share, 3) for share in shares(group)))


def _unanswerable(answered: Mapping[str, Sequence[Answered]]) -> Iterator[tuple[Cell, ...]]:
    for name, rows in answered.items():
        nothing = [each for each in rows if not each.asked.answerable]
        if nothing:
            yield (name, "all", "both", len(nothing), *(round(share, 3) for share in states(nothing)))
        for key in sorted({(each.asked.kind, each.asked.lang) for each in nothing}):
            group = [each for each in nothing if (each.asked.kind, each.asked.lang) == key]
            yield (name, *key, len(group), *(round(share, 3) for share in states(group)))
