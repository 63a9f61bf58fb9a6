"""Vectors scaled to one length."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float32]

_SMALLEST_NORM = 1e-12


def normalised(vectors: Floats) -> Floats:
    """float32[n, dimensions] scaled to L2 = 1."""
    import numpy as np

    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Floats = (vectors / np.maximum(norms, _SMALLEST_NORM)).astype(np.float32)
    return unit
