"""Models that were fitted on judged questions, as `data/weights.tsv` holds them."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from kb.records import NamedTuple

_FILE = Path(__file__).parent / "data" / "weights.tsv"


class Fitted(NamedTuple):
    """A model: its weights by feature, its other figures, and the label and the questions of its fit."""

    version: str
    fitted_on: str
    weights: Mapping[str, float]
    figures: Mapping[str, float]


@functools.cache
def fitted(model: str) -> Fitted:
    """The model of that name, read when first asked for."""
    told: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        of, _, rest = line.partition("\t")
        if of == model:
            kind, name, value = rest.split("\t")
            told[kind][name] = value
    weights, figures = ({name: float(value) for name, value in told[kind].items()} for kind in ("weight", "figure"))
    return Fitted(told["about"]["version"], told["about"]["fitted_on"], weights, figures)
