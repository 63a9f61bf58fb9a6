"""Universal Sentence Encoder multilingual v3 on numpy: an encoder of another family beside e5.

The weights are mapped, so a process pays for the rows it touches, not for 78 MB.
The network (Yang et al. 2020): piece embeddings; three convolution branches, each two layers with residuals;
layer norm; sum over the tokens / √tokens; two residual blocks; tanh.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from kb.domain.embeddings import EmbeddingModel, Role
from kb.embed.installed.blas import keep_numpy_to_one_thread
from kb.embed.installed.use_files import (
    BRANCH_WIDTH,
    CHUNKS,
    DIMENSIONS,
    FIRST_TOKEN,
    LAST_TOKEN,
    LAYERS_FILE,
    LAYERS_INDEX,
    ORDERS,
    TABLE_FILE,
)
from kb.embed.installed.vocabulary import VOCABULARY_FILE, open_vocabulary
from kb.embed.installed.word_tokens import WordTokens
from kb.embed.text import encoder_text
from kb.embed.windows import normalised
from kb.errors import ModelCorrupt

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kb.domain.embeddings import Vectors
    from kb.embed.windows import Floats

# The widest branch sees two tokens to either side; as many empty rows keep neighbouring texts apart.
_GAP_ROWS = 2
# Sentences per second of processor time: 450 at 1,024 tokens at once, 475 at 2,048, 520 at 8,192 in 170 MB more.
_BATCH_TOKENS = 2_048
_NORMALISED_ROWS = 512


@dataclass(frozen=True, slots=True)
class UseNetwork:
    """The mapped weights."""

    table: NDArray[np.uint8]
    layers: dict[str, Floats]

    def encode(self, texts: Sequence[Sequence[int]]) -> Vectors:
        """float32[n, 512], L2 = 1, of token ids with their marks."""
        import numpy as np

        layers = self.layers
        rows, starts = _rows(texts)
        features, present = self._features(rows)
        lengths = np.array([[len(text)] for text in texts], dtype=np.float32)
        _normalise_layer(features, layers["ln_g"], layers["ln_b"], layers["eps"])
        features *= present
        # The sum over tokens commutes with the projection, which then runs once a text.
        summed = np.add.reduceat(features, starts, axis=0) @ layers["cnn_W"] + lengths * layers["cnn_b"]
        mean = summed / np.sqrt(lengths)
        first = np.maximum(mean @ layers["p1"] + np.maximum(mean @ layers["d0"], 0) @ layers["d1"], 0)
        return normalised(np.tanh(first @ layers["p3"] + np.maximum(first @ layers["d2"], 0) @ layers["d3"]))

    def encode_one(self, ids: Sequence[int]) -> bytes:
        """float32[512], L2 = 1, as little-endian bytes, of one text's token ids with their marks."""
        vector: bytes = self.encode([ids])[0].astype("<f4").tobytes()
        return vector

    def _features(self, rows: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """float32[rows, 1280] of embeddings beside their three branches; float32[rows, 1], 1 where a token is."""
        import numpy as np

        layers = self.layers
        tokens, places = np.unique(rows, return_inverse=True)
        known = (tokens >= 0).astype(np.float32)[:, None]
        chunk = tokens % CHUNKS
        embedded: Floats = self.table[tokens] * layers["scale"][chunk, None] + layers["lo"][chunk, None]
        projected: Floats = embedded @ layers["proj"] + layers["proj_b"]
        _normalise_layer(projected, layers["proj_g"], layers["proj_ln_b"], layers["eps"])
        projected *= known
        width = embedded.shape[1]
        present = known[places]
        features = np.empty((len(rows), width + len(ORDERS) * BRANCH_WIDTH), dtype=np.float32)
        features[:, :width] = embedded[places]
        for branch, order in enumerate(ORDERS):
            of_token = projected[:, branch * BRANCH_WIDTH : (branch + 1) * BRANCH_WIDTH]
            weights, bias = layers[f"w1_{order}"], layers[f"b1_{order}"]
            hidden = of_token[places]
            hidden += _positive(_summed_taps([(of_token @ tap)[places] for tap in weights], bias))
            hidden *= present
            weights, bias = layers[f"w2_{order}"], layers[f"b2_{order}"]
            hidden += _positive(_summed_taps([hidden @ tap for tap in weights], bias))
            hidden *= present
            features[:, width + branch * BRANCH_WIDTH :][:, :BRANCH_WIDTH] = hidden
        return features, present


@dataclass(frozen=True, slots=True)
class UseEmbedder:
    """The bulk embedder. The encoder has no roles: queries and passages are encoded alike."""

    model: EmbeddingModel
    _network: UseNetwork
    _tokens: WordTokens
    _pool: Executor | None

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """float32[n, 512], L2 = 1, in the order of `texts`."""
        import numpy as np

        ids = self._token_ids(texts)
        batches = [ids[start:end] for start, end in _slices([len(text) for text in ids])]
        encoded = (self._pool.map if self._pool else map)(self._network.encode, batches)
        return np.concatenate([np.empty((0, DIMENSIONS), dtype=np.float32), *encoded])

    def count_tokens(self, texts: Sequence[str], role: Role) -> list[int]:
        """The tokens of each text as the encoder sees it: marks included."""
        return [len(ids) for ids in self._token_ids(texts)]

    def _token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        return [[FIRST_TOKEN, *self._tokens.token_ids(encoder_text(text)), LAST_TOKEN] for text in texts]


def open_use_embedder(directory: Path, model: EmbeddingModel, threads: int) -> UseEmbedder:
    """The bulk embedder of the files in `directory`, on `threads` cores. Raises: ModelCorrupt when they do not load."""
    network = open_network(directory)  # first: words are cut faster where numpy is
    tokens = WordTokens(open_vocabulary(directory / VOCABULARY_FILE))
    pool = ThreadPoolExecutor(threads, thread_name_prefix="encode") if threads > 1 else None
    return UseEmbedder(model, network, tokens, pool)


def open_network(directory: Path) -> UseNetwork:
    """The weights in `directory`, mapped. Raises: ModelCorrupt when they are cut short."""
    import numpy as np

    keep_numpy_to_one_thread()
    try:
        shapes = json.loads((directory / LAYERS_INDEX).read_bytes())
        table = np.frombuffer(_mapped(directory / TABLE_FILE), np.uint8).reshape(-1, DIMENSIONS)
        values = np.frombuffer(_mapped(directory / LAYERS_FILE), "<f4")
        ends = [0]
        for shape in shapes.values():
            ends.append(ends[-1] + prod(shape))
        layers = {
            name: values[start:end].reshape(shape)
            for (name, shape), (start, end) in zip(shapes.items(), pairwise(ends), strict=True)
        }
    except (OSError, ValueError) as error:
        raise ModelCorrupt(f"the encoder in {directory} cannot be read: {error}") from error
    return UseNetwork(table, layers)


def _mapped(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _slices(lengths: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Ranges of neighbouring texts of at most `_BATCH_TOKENS` tokens (or one text)."""
    start = tokens = 0
    for index, length in enumerate(lengths):
        if index > start and tokens + length > _BATCH_TOKENS:
            yield start, index
            start, tokens = index, 0
        tokens += length
    if lengths:
        yield start, len(lengths)


def _rows(texts: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All token ids in one column, -1 in the rows between texts, and the row where each text starts."""
    import numpy as np

    starts = np.cumsum([0, *(len(text) + _GAP_ROWS for text in texts)])
    rows = np.full(starts[-1], -1, dtype=np.int64)
    for start, text in zip(starts, texts, strict=False):
        rows[start : start + len(text)] = text
    return rows, starts[:-1]


def _summed_taps(taps: Sequence[Floats], bias: Floats) -> Floats:
    """float32[rows, width]: each row with its neighbours' part for it, the taps of a convolution from left to right."""
    import numpy as np

    left = (len(taps) - 1) // 2
    total: Floats = np.broadcast_to(bias, taps[0].shape).copy()
    for step, tap in enumerate(taps, -left):
        if step < 0:
            total[-step:] += tap[:step]
        elif step > 0:
            total[:-step] += tap[step:]
        else:
            total += tap
    return total


def _positive(values: Floats) -> Floats:
    import numpy as np

    return np.maximum(values, 0, out=values)


def _normalise_layer(values: Floats, gain: Floats, bias: Floats, epsilon: Floats) -> None:
    """Normalises each row in its place, some at a time: what lies between takes several times their memory."""
    import numpy as np

    for start in range(0, len(values), _NORMALISED_ROWS):
        rows = values[start : start + _NORMALISED_ROWS]
        centred = rows - rows.mean(axis=-1, keepdims=True)
        variance = np.square(centred).mean(axis=-1, keepdims=True)
        rows[:] = centred / np.sqrt(variance + epsilon) * gain + bias
