"""Checks by what answers are judged: models that were fitted with the encoder that passages are embedded with."""

from __future__ import annotations

from collections.abc import Iterator

from kb.answer.fitted import fitted
from kb.domain.checks import Check
from kb.models.manifest import ENCODER
from kb.store.connection import Connection
from kb.store.mirror import mirrored


def check_gate(db: Connection) -> Iterator[Check]:
    """One check for each likelihood; another where passages are embedded with an encoder that none was fitted with."""
    held = mirrored(db)
    for model in ("about", "right"):
        label = fitted(f"{model}.{'words' if held is None else 'late'}")
        yield Check(f"judging_{model}", True, f"{label.version}: {label.fitted_on}")
    if held is not None and held.model_id != ENCODER:
        yield Check(
            "gate_model",
            False,
            f"what is sure and what is refused was fitted with {ENCODER}; passages are embedded with {held.model_id}",
            "kb eval calibrate shows what thresholds do to questions of your own",
            needed=False,
        )
