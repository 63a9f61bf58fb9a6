"""How well the score gate tells answerable questions from others, fitted on one language and tried on both.

The gate alone: no passage is read, no model asked. Its shipped weights are those of the rows "both languages" and
"manual and strangers"; this prints them, fitted again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.installed_models import CACHE, installed_models
from benchmarks.judged_set import load_judged_set, sample_questions
from benchmarks.left_out import ARTICLES, Asked, ask_manual, ask_refusal_set, ask_with_articles_left_out
from benchmarks.measurement import Cell, Measurement, Table, Target
from benchmarks.remembered_questions import remembered_questions
from kb.config import Config
from kb.domain.answers.answer import Channel
from kb.domain.results.calibration import JudgedMode, Separation, Weights, weights_of
from kb.eval.calibration import Judged, evidence_of, examples_of, fit_weights, separation
from kb.operations.evaluate.calibrate import calibrations
from kb.operations.opening.writer import in_memory

GATE = Config().rag.score_gate
QUESTIONS = 300
"""How many of each kind are asked of an index at most, unless told otherwise."""

STRANGERS = 200
LEAST_AUROC = 0.98
LEAST_BALANCED = 0.92
_FITTED_SEEDS, _TRIED_SEED = (1, 2), 3
_CHANNEL_OF: Mapping[JudgedMode, Channel] = {"hybrid": "own", "lexical": "lexical"}
_BINS = 5


def measure(data: Path | None, *, questions: int = QUESTIONS) -> Measurement:
    """AUROC and the shares kept and refused at the shipped threshold, by what the gate was fitted on and tried on."""
    if data is None:
        raise SystemExit("refusal needs --data DIR")
    with remembered_questions(installed_models() / CACHE / "questions.sqlite"):
        return _measure(data, questions or QUESTIONS)


def _measure(data: Path, most: int) -> Measurement:
    fitted_on: dict[str, list[Asked]] = {}
    strangers: list[Asked] = []
    for lang, name in ARTICLES.items():
        (other,) = (each for each in ARTICLES.values() if each != name)
        foreign = list(sample_questions(load_judged_set(data / other), STRANGERS).questions.values())
        first, second = _FITTED_SEEDS
        own, others = ask_with_articles_left_out(data / name, first, most, strangers=foreign)
        fitted_on[lang] = [own, ask_with_articles_left_out(data / name, second, most)[0]]
        strangers.append(others)
    tried = {
        "korquad-refusal-dev": ask_refusal_set(
            data / "korquad-refusal-dev" / "corpus", data / "korquad-refusal-dev" / "queries.jsonl"
        ),
        "korquad-dev": ask_with_articles_left_out(data / "korquad-dev", _TRIED_SEED, most)[0],
        "squad2-dev": ask_with_articles_left_out(data / "squad2-dev", _TRIED_SEED, most)[0],
    }
    manuals = {f"seed {seed}": ask_manual(data, seed) for seed in _FITTED_SEEDS}
    adversarial = ask_refusal_set(data / "squad2-dev" / "corpus", data / "squad2-dev" / "refusal.jsonl")

    shipped = _shipped()
    fitted_on["both languages"] = [asked for group in list(fitted_on.values()) for asked in group]
    cross = _joined([*manuals.values(), *strangers], "hybrid")
    weights: dict[tuple[Channel, str], Weights] = {
        (_CHANNEL_OF[mode], label): fit_weights(examples_of(_CHANNEL_OF[mode], _joined(group, mode)))
        for mode in _CHANNEL_OF
        for label, group in fitted_on.items()
    }
    weights["cross", "manual and strangers"] = fit_weights(examples_of("cross", cross))
    targets: list[Target] = []
    tables = [
        _apart(mode, {label: weights[_CHANNEL_OF[mode], label] for label in fitted_on}, tried, shipped, targets)
        for mode in _CHANNEL_OF
    ]
    tables += [
        _across(cross, {**manuals, **dict(zip(("Korean index", "English index"), strangers, strict=True))}, shipped),
        Table(
            "Adversarial questions, the gate alone",
            ("mode", "AUROC", "kept", "refused", "balanced"),
            tuple((mode, *_figures(adversarial[mode], shipped)) for mode in _CHANNEL_OF),
        ),
        _reliability(tried, shipped),
        _weights_table(weights, shipped),
    ]
    printed = {f"{channel}, {label}": fitted._asdict() for (channel, label), fitted in weights.items()}
    return Measurement("refusal", tuple(tables), tuple(targets), {"weights": printed})


def _shipped() -> dict[Channel, Weights]:
    with in_memory() as db:
        return {channel: weights_of(row) for channel, row in calibrations(db).items()}


def _joined(group: Sequence[Asked], mode: JudgedMode) -> list[Judged]:
    return [question for asked in group for question in asked[mode]]


def _separation(questions: Sequence[Judged], weights: Mapping[Channel, Weights]) -> Separation:
    kinds = [question.answered_by is not None for question in questions]
    return separation(kinds, [evidence_of(question, weights) for question in questions], (GATE,))


def _figures(questions: Sequence[Judged], weights: Mapping[Channel, Weights]) -> tuple[float, ...]:
    found = _separation(questions, weights)
    point = found.at(GATE)
    return tuple(round(value, 3) for value in (found.auroc, point.kept, point.refused, point.balanced))


def _apart(
    mode: JudgedMode,
    fits: Mapping[str, Weights],
    tried: Mapping[str, Asked],
    shipped: Mapping[Channel, Weights],
    targets: list[Target],
) -> Table:
    rows: list[tuple[Cell, ...]] = []
    calibrations = {label: {**shipped, _CHANNEL_OF[mode]: fitted} for label, fitted in fits.items()}
    for label, weights in {**calibrations, "as shipped": shipped}.items():
        for name, asked in tried.items():
            figures = _figures(asked[mode], weights)
            rows.append((label, name, len(asked[mode]), *figures))
            if mode == "hybrid":
                targets.append(Target(f"{label} → {name}: AUROC", figures[0], "≥", LEAST_AUROC))
                targets.append(Target(f"{label} → {name}: balanced", figures[3], "≥", LEAST_BALANCED))
    columns = ("fitted on", "tried on", "questions", "AUROC", "kept", "refused", "balanced")
    return Table(f"Told apart at {GATE}, {mode} search", columns, tuple(rows))


def _across(cross: Sequence[Judged], groups: Mapping[str, Asked], shipped: Mapping[Channel, Weights]) -> Table:
    """By where the answer stands: how many are kept by the own language's passages, by the other's, by either."""
    rows: list[tuple[Cell, ...]] = []
    for label, asked in groups.items():
        for stands, answered_by in (("own language", "own"), ("other language", "cross"), ("nowhere", None)):
            found = [question for question in asked["hybrid"] if question.answered_by == answered_by]
            if found:
                rows.append((label, stands, len(found), *_kept(found, shipped)))
    examples = [Judged({"cross": row}, "cross" if answered else None) for row, answered in examples_of("cross", cross)]
    auroc = _separation(examples, shipped).auroc
    title = f"Across languages: share kept as shipped (AUROC of the cross channel {auroc:.3f})"
    return Table(title, ("questions over", "answer in", "questions", "own", "cross", "kept"), tuple(rows))


def _kept(questions: Sequence[Judged], shipped: Mapping[Channel, Weights]) -> Iterator[float]:
    channels: tuple[tuple[Channel, ...], ...] = (("own",), ("cross",), ("own", "cross"))
    for chosen in channels:
        seen = [
            question._replace(channels={name: row for name, row in question.channels.items() if name in chosen})
            for question in questions
        ]
        yield round(sum(evidence_of(question, shipped) >= GATE for question in seen) / len(questions), 3)


def _reliability(tried: Mapping[str, Asked], shipped: Mapping[Channel, Weights]) -> Table:
    """Whether evidence .8 means that four questions of five are answerable."""
    questions = [question for asked in tried.values() for question in asked["hybrid"]]
    judged = [(evidence_of(question, shipped), question.answered_by is not None) for question in questions]
    rows: list[tuple[Cell, ...]] = []
    for place in range(_BINS):
        inside = [pair for pair in judged if min(int(pair[0] * _BINS), _BINS - 1) == place]
        if inside:
            means = (sum(values) / len(inside) for values in zip(*inside, strict=True))
            label = f"{place / _BINS:.1f} to {(place + 1) / _BINS:.1f}"
            rows.append((label, len(inside), *(round(mean, 3) for mean in means)))
    return Table("Reliability as shipped", ("evidence", "questions", "mean evidence", "answerable"), tuple(rows))


def _weights_table(weights: Mapping[tuple[Channel, str], Weights], shipped: Mapping[Channel, Weights]) -> Table:
    rows = [(channel, label, *fitted) for (channel, label), fitted in weights.items()]
    rows += [(channel, "as shipped", *fitted) for channel, fitted in shipped.items()]
    rounded = [tuple(round(cell, 3) if isinstance(cell, float) else cell for cell in row) for row in sorted(rows)]
    return Table("Weights", ("channel", "fitted on", *Weights._fields), tuple(rounded))
