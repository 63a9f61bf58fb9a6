"""The installed encoder: encodes one question, or passages in bulk, with the same graph and vocabulary.

Each window of a text is one run, so nothing is padded, and vector and tokens do not depend on other texts. A vector is
the mean over the tokens, with special tokens, averaged over windows by their token counts, L2 = 1.
"""

from __future__ import annotations

import ctypes
import sys
from array import array
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from math import sqrt
from operator import mul
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

from kb.domain.embeddings import EmbeddingModel, EncodedQuestion, PassageTokens, Role
from kb.embed.installed.onnx_library import Session, Tensor, open_session
from kb.embed.installed.vocabulary import VOCABULARY_FILE, WordTokens, word_tokens
from kb.embed.text import encoder_text
from kb.errors import ModelCorrupt
from kb.models.manifest import reinstall_hint

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from kb.domain.embeddings import Vectors

    Floats: TypeAlias = memoryview[float]

T = TypeVar("T")

MODEL_FILE, WEIGHTS_FILE = "onnx/model.onnx", "onnx/weights.bin"

# The graph's input, and its outputs: the mean of the tokens' states; those states, each L2 = 1.
TOKEN_IDS, MEAN, TOKENS = "input_ids", "mean", "tokens"
# The one output of an earlier graph.
STATES = "last_hidden_state"

PREFIXES: dict[Role, str] = {"query": "query: ", "passage": "passage: "}

FIRST, LAST = 0, 2
_MARK_TOKENS = 2
# The three pieces of `query: ` are not part of the question; the update was trained without them.
PREFIX_TOKENS = 3
# Tokenizing in slices keeps the token ids of a large library out of memory, and still allows sorting by length.
_SLICE_TEXTS = 2048


class EncoderGraph(NamedTuple):
    """The loaded graph; runs token ids through it."""

    model: EmbeddingModel
    session: Session

    def windows(self, ids: Sequence[int]) -> list[Sequence[int]]:
        """A text's token ids in windows, in order; each is encoded in one run. An empty text has one empty window."""
        assert self.model.window_tokens is not None
        size = self.model.window_tokens - _MARK_TOKENS
        return [ids[start : start + size] for start in range(0, max(len(ids), 1), size)]

    def run(self, window: Sequence[int]) -> tuple[Floats, Floats]:
        """float32[dimensions], the mean of a window's states, and the states with special tokens, each L2 = 1.

        The states of an earlier graph are not normalised.
        """
        ids = array("q", (FIRST, *window, LAST))
        given = {TOKEN_IDS: Tensor("int64", (1, len(ids)), ids)}
        if self.model.has_tokens:
            mean, tokens = self.session.outputs(given, (MEAN, TOKENS))
            return mean.values, tokens.values
        states = self.session.run(given, STATES).values
        width = self.model.dimensions
        return memoryview(array("f", [sum(states[each::width]) / len(ids) for each in range(width)])), states


class InstalledQueryEncoder(NamedTuple):
    """Encodes one question, without numpy."""

    model: EmbeddingModel
    graph: EncoderGraph
    tokens: WordTokens

    @property
    def provider(self) -> str:
        """The runtime."""
        return "onnxruntime"

    def encode(self, text: str) -> EncodedQuestion:
        """The vector, and the tokens of the question's words, or all tokens where it has none. Raises: ModelError."""
        width = self.model.dimensions
        ids = self.tokens.token_ids(PREFIXES["query"] + encoder_text(text))
        sums = [0.0] * width
        kept, every = bytearray(), bytearray()
        for at, window in enumerate(self.graph.windows(ids)):
            mean, tokens = self.graph.run(window)
            weight = max(len(window), 1)
            sums = [total + weight * value for total, value in zip(sums, mean, strict=True)]
            first = 1 + (PREFIX_TOKENS if at == 0 else 0)
            kept += tokens[first * width : -width]
            every += tokens
        norm = sqrt(sum(map(mul, sums, sums))) or 1.0
        vector = array("f", [total / norm for total in sums]).tobytes()
        return EncodedQuestion(vector, bytes(kept or every) if self.model.has_tokens else None)


class InstalledEmbedder(NamedTuple):
    """Encodes many texts, as many at once as there are threads; caches the tokens of words."""

    model: EmbeddingModel
    graph: EncoderGraph
    tokens: WordTokens
    pool: Executor | None

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """float32[n, dimensions], L2 = 1, in the order of `texts`."""
        return self._stacked(self._encoded(texts, role, lambda vector, states: vector))

    def embed_passages(self, texts: Sequence[str]) -> tuple[Vectors, list[PassageTokens]]:
        """The vectors of passages, as from `embed`, and their tokens, in one pass of the encoder."""
        from kb.embed.passage_tokens import packed_tokens

        both = self._encoded(texts, "passage", lambda vector, states: (vector, packed_tokens(states)))
        return self._stacked([vector for vector, _ in both]), [tokens for _, tokens in both]

    def count_tokens(self, texts: Sequence[str], role: Role) -> list[int]:
        """The tokens of each text as the encoder sees it, with prefix and special tokens."""
        return [len(ids) + _MARK_TOKENS for ids in self._token_ids(texts, role)]

    def _encoded(self, texts: Sequence[str], role: Role, made: Callable[[Vectors, Vectors], T]) -> list[T]:
        """The result of `made` for each text's vector, float32[dimensions], and states, float32[n, dimensions]."""
        encoded: list[T] = []
        for start in range(0, len(texts), _SLICE_TEXTS):
            ids = self._token_ids(texts[start : start + _SLICE_TEXTS], role)
            # Longest first, so that the threads end together.
            order = sorted(range(len(ids)), key=lambda at: -len(ids[at]))
            run = self.pool.map if self.pool else map
            by_place = dict(zip(order, run(lambda at: made(*self._states(ids[at])), order), strict=True))  # noqa: B023
            encoded += [by_place[at] for at in range(len(ids))]
        return encoded

    def _states(self, ids: Sequence[int]) -> tuple[Vectors, Vectors]:
        """The vector of a text, float32[dimensions], L2 = 1, and the states of its tokens, float32[n, dimensions].

        The states are as the graph gives them: those of an older graph are not normalised.
        """
        import numpy as np

        width = self.model.dimensions
        total = np.zeros(width, dtype=np.float32)
        states = []
        for window in self.graph.windows(ids):
            mean, tokens = self.graph.run(window)
            total += np.asarray(mean) * max(len(window), 1)
            states.append(np.asarray(tokens).reshape(-1, width))
        vector: Vectors = total / (np.linalg.norm(total) or 1)
        return vector, states[0] if len(states) == 1 else np.concatenate(states)

    def _stacked(self, vectors: Sequence[Vectors]) -> Vectors:
        import numpy as np

        return np.stack(vectors) if vectors else np.empty((0, self.model.dimensions), dtype=np.float32)

    def _token_ids(self, texts: Sequence[str], role: Role) -> list[list[int]]:
        return [self.tokens.token_ids(PREFIXES[role] + encoder_text(text)) for text in texts]


def open_installed_embedder(directory: Path, model: EmbeddingModel, threads: int) -> InstalledEmbedder:
    """The embedder of the files in `directory`, on `threads` cores. Raises: ModelCorrupt when they do not load."""
    from concurrent.futures import ThreadPoolExecutor

    import numpy  # noqa: F401  words are cut faster where it is

    _keep_numpy_to_one_thread()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="encode") if threads > 1 else None
    tokens = word_tokens(directory / VOCABULARY_FILE)
    return InstalledEmbedder(model, _graph(directory, model, optimised=True), tokens, pool)


def open_installed_query_encoder(directory: Path, model: EmbeddingModel, *, optimised: bool) -> InstalledQueryEncoder:
    """The query encoder of the files in `directory`. Raises: ModelCorrupt when they do not load.

    An `optimised` graph takes longer to load than it saves for the one question of a fresh process.
    """
    tokens = word_tokens(directory / VOCABULARY_FILE)
    return InstalledQueryEncoder(model, _graph(directory, model, optimised=optimised), tokens)


def _graph(directory: Path, model: EmbeddingModel, *, optimised: bool) -> EncoderGraph:
    try:
        return EncoderGraph(model, open_session(directory / MODEL_FILE, optimised=optimised))
    except ModelCorrupt as error:
        raise ModelCorrupt(f"{model.name}: {error.message}", reinstall_hint(model.name)) from error


def _keep_numpy_to_one_thread() -> None:
    """Makes numpy run each product on the calling thread only, where its library is known.

    The library's threads spin while waiting: with two, clustering a passage's tokens takes nine times the CPU time.
    """
    package = find_spec("numpy")
    if sys.platform == "darwin" or package is None or package.origin is None:
        return
    for path in Path(package.origin).parents[1].glob("numpy.libs/libscipy_openblas64_*.so"):
        with suppress(OSError, AttributeError):
            ctypes.CDLL(str(path)).scipy_openblas_set_num_threads64_(1)
