"""All weights of reading and judging fitted to sets of questions, and the file of the view that ships them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.read_questions import Found, Looked, Read, look, read
from benchmarks.weight_fitting import (
    Choice,
    Fitted,
    even_weights,
    fit_choice,
    fit_likelihood,
    likelihood,
    precision_limits,
)
from kb.answer.judging import Judgement

WEIGHED = ("margin", "share", "cosine", "nearness", "sentence", "bigrams", "missing", "strangers", "other")
"""What both likelihoods weigh, of all that kb works out of a question (docs/answers.md tells how they were chosen)."""

SHARES = (0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
GATE = 0.43
"""What of the fitted `about` is shipped as .5."""

_RANK_RIDGE = 0.001
_LOOK_RIDGE = 0.003
_SENTENCE_RIDGE = 0.003
_JUDGING_RIDGE = 5.0
_UNANSWERABLE = 0.7  # of what the answerable questions weigh
_WORDS_SHARED = 4.0  # questions of that kind are a whole set each, and the usual case

Models = dict[str, Fitted]
"""The weights by model and feature, as the view `weights` has them."""


class Outcome(NamedTuple):
    """A question judged by weights that were fitted without its set: what is weighed, and whether it went well."""

    set_name: str
    kind: str
    answerable: bool
    right: bool
    features: Mapping[str, float]


def fit_rank(found: Sequence[Found]) -> Fitted:
    """The weights `rank`; questions without a right candidate, or a judged document, tell nothing."""
    usable = [each for each in found if any(each.right)]
    even = even_weights([(each.set_name, each.asked.kind) for each in usable])
    return fit_choice(
        [Choice(each.features, each.right, weight * _counts(each)) for each, weight in zip(usable, even, strict=True)],
        _RANK_RIDGE,
    )


def fit_look(rows: Sequence[Looked]) -> Fitted:
    """The weights `look`, of the questions some but not all of whose first passages are right."""
    usable = [row for row in rows if any(row.right) and not all(row.right)]
    even = even_weights([(row.found.set_name, row.found.asked.kind) for row in usable])
    return fit_choice(
        [
            Choice(row.features, row.right, weight * _counts(row.found))
            for row, weight in zip(usable, even, strict=True)
        ],
        _LOOK_RIDGE,
    )


def _counts(found: Found) -> float:
    return _WORDS_SHARED if found.asked.kind == "words shared" else 1.0


def fit_sentence(rows: Sequence[Read]) -> Fitted:
    """The weights `sentence`, of the questions that say what an answer must hold."""
    usable = [row for row in rows if any(row.holds)]
    even = even_weights([row.found.asked.kind for row in usable])
    choices = [Choice(row.sentences, row.holds, weight) for row, weight in zip(usable, even, strict=True)]
    return fit_choice(choices, _SENTENCE_RIDGE)


def outcome(row: Read, sentence: Fitted) -> Outcome | None:
    """How a question is judged; None where nothing is said in what was found."""
    excerpts = row.excerpts(sentence)
    if not excerpts:
        return None
    asked = row.found.asked
    pieces = [(each.passage.doc_path, each.piece.text) for each in Judgement(excerpts, 0.0, 0.0, {}, "", {}).shown()]
    right = asked.is_answered_by(pieces) if asked.files else asked.answerable
    return Outcome(row.found.set_name, asked.kind, asked.answerable, right, row.judged(excerpts))


def fit_judging(outcomes: Sequence[Outcome]) -> Models:
    """The weights `about` and `right`; `about` shifted so that what is shipped as .5 is `GATE` of the fit."""
    weights = _outcome_weights(outcomes)
    about = fit_likelihood(
        [_only(each) for each in outcomes], [each.answerable for each in outcomes], weights, _JUDGING_RIDGE
    )
    about["bias"] -= math.log(GATE / (1 - GATE))
    right = fit_likelihood(
        [_only(each) for each in outcomes], [each.right for each in outcomes], weights, _JUDGING_RIDGE
    )
    return {"about": about, "right": right}


def fit_limits(outcomes: Sequence[Outcome]) -> Fitted:
    """The limits of `right`, each set judged by weights of the others; one without judged documents is not asked."""
    likely: dict[str, list[float]] = {}
    right: dict[str, list[bool]] = {}
    for name in sorted({each.set_name for each in outcomes}):
        own = [each for each in outcomes if each.set_name == name]
        others = [each for each in outcomes if each.set_name != name]
        if not others or {each.kind for each in own} <= {"words shared", "missing article"}:
            continue
        models = fit_judging(others)
        passing = [each for each in own if likelihood(models["about"], each.features) >= 0.5]
        likely[name] = [likelihood(models["right"], each.features) for each in passing]
        right[name] = [each.right for each in passing]
    return precision_limits(SHARES, likely, right)


class Fit(NamedTuple):
    """Every set's outcomes, each by weights of the other sets, and the weights themselves."""

    by_set: Mapping[str, Models]
    whole: Models


def fit_all(found: Mapping[str, Sequence[Found]], judged: Sequence[str], told: Sequence[str]) -> Fit:
    """All weights: of each set by the other sets alone, and of all sets.

    `judged` are the sets that judging is fitted on, `told` those whose questions say what an answer must hold.
    """
    ordering = {name: _ordering(found, told, without=name) for name in found}
    reads = {name: [read(each, ordering[name]) for each in rows] for name, rows in found.items() if name in judged}
    outcomes = {
        name: [each for row in rows if (each := outcome(row, ordering[name]["sentence"])) is not None]
        for name, rows in reads.items()
    }
    by_set = {
        name: _models(ordering[name], [each for other in judged if other != name for each in outcomes[other]])
        for name in found
    }
    whole = _models(_ordering(found, told), [each for rows in outcomes.values() for each in rows])
    return Fit(by_set, whole)


def _ordering(found: Mapping[str, Sequence[Found]], told: Sequence[str], without: str = "") -> Models:
    """The models `rank`, `sentence` and `look` by all sets but one."""
    others = {name: rows for name, rows in found.items() if name != without}
    models = {"rank": fit_rank([each for rows in others.values() for each in rows])}
    models["sentence"] = fit_sentence([read(each, models) for name in told if name in others for each in others[name]])
    models["look"] = fit_look([look(each, models) for rows in others.values() for each in rows if each.asked.files])
    return models


def view_file(old: str, models: Mapping[str, Fitted], label: int) -> str:
    """The file `sql/views/shipped_weights.sql` with these weights, labelled `<model>-<label>`, in place of its own.

    The rows of other models stay.

    Its statement's version is that of `old` and one more.
    """
    rows = [
        f"    ('{model}', '{_label(model, label)}', '{feature}', {weight:.4g})"
        for model, weights in models.items()
        for feature, weight in sorted(weights.items())
    ]
    head, _, rest = old.partition("  VALUES\n")
    values, _, tail = rest.partition("\n)\n")
    fitted = tuple(f"    ('{model}'," for model in models)
    rows += [row.removesuffix(",") for row in values.splitlines() if not row.startswith(fitted)]
    lines = [
        f"-- version {int(line.split()[2]) + 1}" if line.startswith("-- version ") else line
        for line in head.splitlines()
    ]
    return "\n".join([*lines, "  VALUES", ",\n".join(rows), ")", tail])


def write_view(path: Path, source: Path, models: Mapping[str, Fitted], label: int) -> None:
    """Writes the view with these weights to `path`, after the one at `source`."""
    path.write_text(view_file(source.read_text(encoding="utf-8"), models, label), encoding="utf-8")


def _label(model: str, label: int) -> str:
    return f"{'right' if model == 'right_limits' else model}-{label}"


def _models(ordering: Models, outcomes: Sequence[Outcome]) -> Models:
    return {**ordering, **fit_judging(outcomes), "right_limits": fit_limits(outcomes)}


def _only(each: Outcome) -> dict[str, float]:
    return {name: each.features[name] for name in WEIGHED}


def _outcome_weights(outcomes: Sequence[Outcome]) -> list[float]:
    """Each kind of question in a set counts the same, all unanswerable ones .7 of all answerable ones."""
    even = even_weights([(each.set_name, each.kind) for each in outcomes])
    whole = {
        is_answerable: sum(
            weight for each, weight in zip(outcomes, even, strict=True) if each.answerable is is_answerable
        )
        for is_answerable in (True, False)
    }
    wanted = {True: 1.0, False: _UNANSWERABLE}
    scaled = [
        weight * wanted[each.answerable] / whole[each.answerable] for each, weight in zip(outcomes, even, strict=True)
    ]
    return [weight * len(outcomes) / sum(scaled) for weight in scaled]
