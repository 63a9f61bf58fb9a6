"""Fits what judges answers to the owner's own questions, and says what that changes before it changes anything.

Where passages are read, that is their judgement (`kb.operations.evaluate.calibrate_reading`). Elsewhere every question
is asked twice, as a hybrid search and by its words alone: those are the two ways evidence is judged then.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from kb.answer.evidence import JUDGED_HITS, channel_evidence
from kb.config import Config
from kb.domain.answers.answer import Channel
from kb.domain.ids import id_from
from kb.domain.results.calibration import (
    CalibrationRow,
    ChannelFit,
    JudgedMode,
    ModeFit,
    weights_of,
)
from kb.domain.results.calibration_report import CalibrationReport
from kb.domain.results.reading_calibration import FittedModel, JudgedModel, ReadingFit
from kb.domain.run_handle import RunHandle, StepProgress
from kb.domain.search import SearchFilters, SearchMode, SearchQuery
from kb.errors import UsageError
from kb.eval.answerable_file import Labelled, read_labelled
from kb.eval.calibration import (
    LEAST_QUESTIONS,
    THRESHOLDS,
    Features,
    Judged,
    evidence_of,
    examples_of,
    held_out_evidence,
    refit,
    separation,
)
from kb.language.detect import query_language
from kb.operations.evaluate.calibrate_reading import calibrate_reading
from kb.operations.opening.clock import now_utc
from kb.operations.opening.writer import writing
from kb.operations.search.search import search_in, vector_source
from kb.operations.session.knowledge_base import KnowledgeBase
from kb.operations.session.session import Session
from kb.store.connection import Connection, transaction
from kb.store.rows import answer_queries as queries

BY_WORDS_NOT_FITTED = (
    "questions that are searched by words alone are judged by an older gate; "
    "kb --set rerank.provider=none eval calibrate fits that one"
)
NO_PLACES = (
    "right is not fitted: it takes {least} answerable questions that say where their answer stands, "
    'as {{"text": "…", "expected": "notes/a.md"}}; {placed} do'
)

_JUDGING_MODELS = ("about", "right", "right_limits")


def calibrate(session: Session, answerable: Path, unanswerable: Path, handle: RunHandle) -> CalibrationReport:
    """What fitting the gate to these questions would change; nothing is written.

    Raises: UsageError for files that hold no questions, or some on one side only.
    """
    questions = read_labelled(answerable, unanswerable)
    if len({question.is_answerable for question in questions}) < 2:
        raise UsageError("it takes questions of both kinds", f"at least {LEAST_QUESTIONS} in each file")
    fitted_on = f"{answerable.name}, {unanswerable.name}"
    config = session.config
    with session.reading_views() as base:
        source = vector_source(base, SearchQuery("?", "hybrid", JUDGED_HITS))
        if source is not None and source.reads:
            reading = calibrate_reading(base, questions, answerable, handle)
            return CalibrationReport(config.rag.score_gate, fitted_on, (), _note(reading), reading)
        thresholds = sorted({*THRESHOLDS, config.rag.score_gate})
        rows = calibrations(base.db)
        judged = judge_questions(base, questions, handle)
    modes = [_fit_mode(mode, found, rows, thresholds) for mode, found in judged.items() if _has_both_kinds(found)]
    return CalibrationReport(config.rag.score_gate, fitted_on, tuple(modes))


def _note(reading: ReadingFit) -> str:
    """What the fit of the judgement of read passages does not reach."""
    if reading.placed >= LEAST_QUESTIONS:
        return BY_WORDS_NOT_FITTED
    return f"{NO_PLACES.format(least=LEAST_QUESTIONS, placed=reading.placed)}; {BY_WORDS_NOT_FITTED}"


def judge_questions(
    base: KnowledgeBase, questions: Sequence[Labelled], handle: RunHandle
) -> dict[JudgedMode, list[Judged]]:
    """What each channel sees of every question, by search mode; by words alone where there are no vectors."""
    has_vectors = vector_source(base, SearchQuery(questions[0].text, "hybrid", JUDGED_HITS)) is not None
    judged: dict[JudgedMode, list[Judged]] = {"hybrid": [], "lexical": []} if has_vectors else {"lexical": []}
    for done, question in enumerate(questions, 1):
        handle.stop_if_canceled("all questions were asked", "nothing was changed; the same call begins again")
        for mode, found in judged.items():
            if mode == "hybrid" or not _is_across(question):
                found.append(_judge(base, question, mode))
        handle.tell(StepProgress("asking", done, len(questions), "questions"))
    return judged


def _judge(base: KnowledgeBase, question: Labelled, mode: SearchMode) -> Judged:
    result = search_in(base, SearchQuery(question.text, mode, JUDGED_HITS, SearchFilters(as_text=True)))
    channels: dict[Channel, Features] = {
        found.channel: Features(found.lexical, found.lexical_margin, found.nearness or 0.0)
        for found in channel_evidence(base.db, result.searched, result.judged_hits)
        if found.channel != "code"
    }
    return Judged(channels, _answered_by(question, channels) if question.is_answerable else None)


def _answered_by(question: Labelled, channels: Mapping[Channel, Features]) -> Channel:
    """The channel that should speak for an answer: that of its language, as far as the question says."""
    if "lexical" in channels:
        return "lexical"
    return "cross" if _is_across(question) or ("cross" in channels and "own" not in channels) else "own"


def _is_across(question: Labelled) -> bool:
    return question.target_lang is not None and question.target_lang != query_language(question.text)


def _has_both_kinds(judged: Sequence[Judged]) -> bool:
    return len({question.answered_by is not None for question in judged}) == 2


def _fit_mode(
    mode: JudgedMode,
    judged: Sequence[Judged],
    rows: Mapping[Channel, CalibrationRow],
    thresholds: Sequence[float],
) -> ModeFit:
    current = {channel: weights_of(row) for channel, row in rows.items()}
    kinds = [each.answered_by is not None for each in judged]
    now = separation(kinds, [evidence_of(each, current) for each in judged], thresholds)
    fitted = refit(judged, judged)
    held_out = separation(kinds, held_out_evidence(judged, current), thresholds) if fitted else None
    channels = []
    for channel, row in rows.items():
        examples = examples_of(channel, judged)
        if (channel == "lexical") == (mode == "lexical"):
            answerable = sum(is_answerable for _, is_answerable in examples)
            counts = (answerable, len(examples) - answerable)
            channels.append(ChannelFit(channel, *counts, row, fitted.get(channel)))
    answerable = sum(each.answered_by is not None for each in judged)
    return ModeFit(mode, answerable, len(judged) - answerable, now, held_out, tuple(channels))


def calibrations(db: Connection) -> dict[Channel, CalibrationRow]:
    """What judges each channel now."""
    return {row.channel: row for row in queries.select_calibrations(db)}  # type: ignore[misc]  # three channels


def apply_calibration(config: Config, report: CalibrationReport) -> tuple[Channel | JudgedModel, ...]:
    """Judges by what was fitted, and returns the channels and likelihoods so changed.

    Raises: UsageError where nothing was fitted, or it does worse on questions it has not seen.
    """
    applied = report.applied
    if not applied:
        if report.is_fitted:
            raise UsageError(
                "nothing was written: the refit does worse on questions it has not seen", "more questions would help"
            )
        raise UsageError("nothing was written: too few questions", f"at least {LEAST_QUESTIONS} of each kind")
    now = now_utc()
    with writing(config.sqlite) as db, transaction(db):
        for fit in report.better:
            assert fit.fitted is not None
            queries.upsert_calibration(
                db,
                channel=fit.channel,
                version=f"{fit.channel}-{id_from(list(fit.fitted))[:8]}",
                **fit.fitted._asdict(),
                fitted_on=report.fitted_on,
                questions=fit.answerable + fit.unanswerable,
                updated_at=now,
            )
        for model in () if report.reading is None else report.reading.better:
            _write_model(db, model, now)
    return applied


def _write_model(db: Connection, model: FittedModel, now: str) -> None:
    queries.delete_fitted_judging(db, models_json=json.dumps([model.model]))
    for feature, weight in model.weights.items():
        queries.insert_fitted_weight(
            db,
            model=model.model,
            feature=feature,
            weight=weight,
            version=model.version,
            questions=model.questions,
            updated_at=now,
        )


def reset_calibration(config: Config) -> tuple[str, ...]:
    """Judges as shipped again, and returns the channels and likelihoods that were judged otherwise."""
    with writing(config.sqlite) as db, transaction(db):
        fitted = [row.channel for row in queries.select_calibrations(db) if row.origin == "fitted"]
        fitted += [row.model for row in queries.select_judging_models(db) if row.origin == "fitted"]
        queries.delete_fitted_calibrations(db)
        queries.delete_fitted_judging(db, models_json=json.dumps(_JUDGING_MODELS))
    return tuple(fitted)
