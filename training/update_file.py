"""The update's file, float16, by the names of the base's weights, as `kb.assemble` merges it: weight + up · down.

`lN.{q,k,v,ao,fi,fo}.up` [outputs, rank] and `.down` [rank, inputs] are added to a linear layer's weight;
`lN.{aln,oln}.{w,b}` stand in place of a norm's.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from training.questions import BadData

Floats = NDArray[np.float32]


def write_update(learned: Mapping[str, Floats], path: Path) -> None:
    """Write all matrices and norms to `path`, whole or not at all; the same ones give the same bytes.

    Raises: BadData for a number that float16 does not have.
    """
    with np.errstate(over="ignore"):
        halves = {name: values.astype(np.float16) for name, values in sorted(learned.items())}
    for name, values in halves.items():
        if not np.isfinite(values).all():
            raise BadData(path, None, f"{name} has numbers that are too large for float16, or none")
    partial = path.with_name(f"{path.name}.partial")
    with partial.open("wb") as file:
        np.savez(file, allow_pickle=False, **halves)
    os.replace(partial, path)


def read_update(path: Path) -> dict[str, Floats]:
    """All matrices and norms at `path`. Raises: BadData when it is no such file."""
    try:
        with np.load(path) as arrays:
            return {name: arrays[name].astype(np.float32) for name in arrays.files}
    except (OSError, ValueError, BadZipFile) as error:
        raise BadData(path, None, f"this is no update: {error}") from error


def rank_of(update: Mapping[str, Floats]) -> int:
    """The rank of an update's matrices."""
    return min(values.shape[0] for name, values in update.items() if name.endswith(".down"))
