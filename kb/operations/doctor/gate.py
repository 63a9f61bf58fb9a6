"""Checks by what answers are judged: the calibration of each channel and likelihood, shipped or fitted here."""

from __future__ import annotations

from collections.abc import Iterator

from kb.domain.checks import Check
from kb.embed.model_files import ENCODER
from kb.store.connection import Connection
from kb.store.rows import answer_queries as queries
from kb.store.vectors.vector_tables import mirrored


def check_gate(db: Connection) -> Iterator[Check]:
    """One check for each, with the calibration in force and what it was fitted on."""
    yield from _check_fitted_model(db)
    for row in queries.select_calibrations(db):
        yield Check(
            f"gate_{row.channel}",
            True,
            f"{row.version} ({row.origin} {row.updated_at[:10]}, {row.questions} questions: {row.fitted_on})",
        )
    for model in queries.select_judging_models(db):
        if model.origin == "shipped":
            yield Check(f"judging_{model.model}", True, f"{model.version} (shipped)")
            continue
        yield Check(
            f"judging_{model.model}",
            is_current := model.version.startswith(f"{model.shipped}+"),
            f"{model.version} (fitted {(model.updated_at or '')[:10]}, {model.questions} questions)",
            None if is_current else f"kb now comes with {model.shipped}: kb eval calibrate again, or with --reset",
        )


def _check_fitted_model(db: Connection) -> Iterator[Check]:
    """Says where what kb comes with was fitted with another model than passages are embedded with; else nothing."""
    held = mirrored(db)
    shipped = any(model.origin == "shipped" for model in queries.select_judging_models(db))
    if held is not None and held.model_id != ENCODER and shipped:
        yield Check(
            "gate_model",
            False,
            f"what is sure and what is refused was fitted with {ENCODER}; passages are embedded with {held.model_id}",
            "kb eval calibrate fits it to questions of your own",
            needed=False,
        )
