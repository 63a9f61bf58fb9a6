"""Models that were fitted on judged questions, as `data/weights.toml` holds them."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kb.records import NamedTuple

_FILE = Path(__file__).parent / "data" / "weights.toml"


class Fitted(NamedTuple):
    """A model: its weights by feature, its other figures, and the label and the questions of its fit."""

    version: str
    fitted_on: str
    weights: Mapping[str, float]
    figures: Mapping[str, float]


@functools.cache
def fitted(model: str) -> Fitted:
    """The model of that name, read when first asked for."""
    held: dict[str, Any] = tomllib.loads(_FILE.read_text(encoding="utf-8"))[model]
    return Fitted(held.pop("version"), held.pop("fitted_on"), held.pop("weights"), held)
