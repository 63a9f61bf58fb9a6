"""Long texts and uneven batches: token sequences are cut into the encoder's windows, the windows batched by length, and
their vectors averaged back into one a text. Nothing is cut off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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


def batches(cut: Sequence[Window], batch_tokens: int) -> Iterator[list[Window]]:
    """The windows from long to short, in batches of at most `batch_tokens` tokens padding included (or one window)."""
    batch: list[Window] = []
    for window in sorted(cut, key=lambda window: len(window.ids), reverse=True):
        if batch and (len(batch) + 1) * len(batch[0].ids) > batch_tokens:
            yield batch
            batch = []
        batch.append(window)
    if batch:
        yield batch


def add_windows(sums: Floats, batch: Sequence[Window], vectors: Floats) -> None:
    """Adds float32[windows, dimensions], weighted by content tokens, to the sums of the texts they belong to."""
    import numpy as np

    weights = np.array([max(len(window.ids), 1) for window in batch], dtype=np.float32)
    np.add.at(sums, [window.text for window in batch], vectors * weights[:, None])


def normalised(vectors: Floats) -> Floats:
    """float32[n, dimensions] scaled to L2 = 1."""
    import numpy as np

    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Floats = (vectors / np.maximum(norms, _SMALLEST_NORM)).astype(np.float32)
    return unit
