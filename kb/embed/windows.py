"""Long texts: token sequences are cut into the encoder's windows, none of them left out; vectors are normalised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float32]

_SMALLEST_NORM = 1e-12


@dataclass(frozen=True, slots=True)
class Window:
    """A piece of one text's token ids that the encoder sees at once, without its marks."""

    text: int
    ids: Sequence[int]


def windows(texts: Sequence[Sequence[int]], content_tokens: int) -> list[Window]:
    """The windows of each text's token ids, in order, without overlap; an empty text has one empty window."""
    return [
        Window(index, ids[start : start + content_tokens])
        for index, ids in enumerate(texts)
        for start in range(0, max(len(ids), 1), content_tokens)
    ]


def normalised(vectors: Floats) -> Floats:
    """float32[n, dimensions] scaled to L2 = 1."""
    import numpy as np

    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Floats = (vectors / np.maximum(norms, _SMALLEST_NORM)).astype(np.float32)
    return unit
