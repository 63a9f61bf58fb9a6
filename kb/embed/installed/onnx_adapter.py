"""Installed e5 models on ONNX Runtime: the bulk embedder, and the query encoder where the native one does not run.

Vectors are the mean over tokens, averaged over windows by their token counts, L2 = 1. A graph that an earlier kb
assembled asks for an attention mask; it gives nearly the same vectors, and half as many a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kb.domain.embeddings import EmbeddingModel, Role
from kb.embed.installed.vocabulary import VOCABULARY_FILE, UnigramVocabulary, open_vocabulary
from kb.embed.installed.word_tokens import WordTokens
from kb.embed.model_files import MODEL_FILE
from kb.embed.text import encoder_text
from kb.embed.windows import Window, normalised, windows
from kb.errors import ModelCorrupt
from kb.models.manifest import reinstall_hint
from kb.private import unreported

if TYPE_CHECKING:
    from kb.domain.embeddings import Vectors

PREFIXES: dict[Role, str] = {"query": "query: ", "passage": "passage: "}

_FIRST, _LAST = 0, 2
_MARK_TOKENS = 2
# The fused operator takes four times as long as the sum and the normalisation it stands for.
_NOT_FUSED = ["SkipLayerNormFusion"]
# Tokenizing in slices keeps the token ids of a large library out of memory, and still leaves lengths to sort by.
_SLICE_TEXTS = 2048


@dataclass(frozen=True, slots=True)
class OnnxEncoder:
    """A session, and how token ids go through it: a window a run, as many at once as there are threads.

    So nothing is padded, a vector does not depend on the texts beside it, and no thread waits for another.
    """

    model: EmbeddingModel
    _session: Any
    _masked: bool
    _pool: Executor | None

    def encode(self, texts: Sequence[Sequence[int]]) -> Vectors:
        """float32[n, dimensions], L2 = 1, of token ids without marks, of any length."""
        import numpy as np

        assert self.model.window_tokens is not None
        # The longest first: the threads then end together.
        cut = sorted(windows(texts, self.model.window_tokens - _MARK_TOKENS), key=lambda window: -len(window.ids))
        sums = np.zeros((len(texts), self.model.dimensions), dtype=np.float32)
        for window, mean in zip(cut, (self._pool.map if self._pool else map)(self._mean, cut), strict=True):
            sums[window.text] += mean * max(len(window.ids), 1)
        return normalised(sums)

    def _mean(self, window: Window) -> Vectors:
        """float32[dimensions], the mean over a window's tokens, marks included."""
        import numpy as np

        ids = np.array([[_FIRST, *window.ids, _LAST]], dtype=np.int64)
        asked = {"input_ids": ids}
        if self._masked:
            asked["attention_mask"] = np.ones_like(ids)
        (states,) = self._session.run(None, asked)
        mean: Vectors = states[0].mean(axis=0)
        return mean


@dataclass(frozen=True, slots=True)
class OnnxEmbedder:
    """The bulk embedder: the mapped vocabulary, words remembered, before the encoder."""

    model: EmbeddingModel
    _encoder: OnnxEncoder
    _tokens: WordTokens

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """float32[n, dimensions], L2 = 1, in the order of `texts`."""
        import numpy as np

        vectors = np.empty((len(texts), self.model.dimensions), dtype=np.float32)
        for start in range(0, len(texts), _SLICE_TEXTS):
            end = start + _SLICE_TEXTS
            vectors[start:end] = self._encoder.encode(self._token_ids(texts[start:end], role))
        return vectors

    def count_tokens(self, texts: Sequence[str], role: Role) -> list[int]:
        """The tokens of each text as the encoder sees it: prefix and marks included."""
        return [len(ids) + _MARK_TOKENS for ids in self._token_ids(texts, role)]

    def _token_ids(self, texts: Sequence[str], role: Role) -> list[list[int]]:
        return [self._tokens.token_ids(PREFIXES[role] + encoder_text(text)) for text in texts]


@dataclass(frozen=True, slots=True)
class OnnxQueryEncoder:
    """The query encoder: the mapped vocabulary before the encoder."""

    model: EmbeddingModel
    _encoder: OnnxEncoder
    _vocabulary: UnigramVocabulary

    @property
    def provider(self) -> str:
        """The runtime of the session."""
        return "onnxruntime"

    def encode(self, text: str) -> bytes:
        """float32[dimensions], L2 = 1, as little-endian bytes."""
        ids = self._vocabulary.token_ids(PREFIXES["query"] + encoder_text(text))
        vector: bytes = self._encoder.encode([ids])[0].astype("<f4").tobytes()
        return vector


def open_onnx_embedder(directory: Path, model: EmbeddingModel, threads: int) -> OnnxEmbedder:
    """The bulk embedder of the files in `directory`, on `threads` cores. Raises: ModelCorrupt when they do not load."""
    encoder = _encoder(directory, model, threads)  # first: words are cut faster where numpy is
    return OnnxEmbedder(model, encoder, WordTokens(open_vocabulary(directory / VOCABULARY_FILE)))


def open_onnx_query_encoder(directory: Path, model: EmbeddingModel, *, optimised: bool) -> OnnxQueryEncoder:
    """The query encoder of the files in `directory`. Raises: ModelCorrupt when they do not load.

    To have its graph `optimised` takes longer than the one question of a fresh process would gain by it.
    """
    vocabulary = open_vocabulary(directory / VOCABULARY_FILE)
    return OnnxQueryEncoder(model, _encoder(directory, model, threads=1, optimised=optimised), vocabulary)


def _encoder(directory: Path, model: EmbeddingModel, threads: int, *, optimised: bool = True) -> OnnxEncoder:
    session = _session(directory / MODEL_FILE, model, optimised=optimised)
    masked = any(given.name == "attention_mask" for given in session.get_inputs())
    pool = ThreadPoolExecutor(threads, thread_name_prefix="encode") if threads > 1 else None
    return OnnxEncoder(model, session, masked, pool)


def _session(path: Path, model: EmbeddingModel, *, optimised: bool) -> Any:
    with unreported():
        import onnxruntime
        from onnxruntime.capi import onnxruntime_pybind11_state as failures

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        return onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"], disabled_optimizers=_NOT_FUSED
        )
    except (failures.Fail, failures.InvalidProtobuf, failures.InvalidGraph, failures.NoSuchFile) as error:
        raise ModelCorrupt(f"{path.name} of {model.name} does not load: {error}", reinstall_hint(model.name)) from error
