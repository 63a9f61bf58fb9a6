"""Encoders and cross-encoders in GGUF files of their owner's, run in this process by llama.cpp."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kb.domain.embeddings import EmbeddingModel
from kb.embed.model_files import GGUF_SUFFIX, LLAMA_CPP
from kb.embed.providers.row_embedder import RowEmbedder
from kb.embed.text import encoder_text
from kb.errors import ModelMissing, PromptTooLong
from kb.runtimes.gguf_encoder import (
    GgufEncoder,
    encoder_facts,
    open_gguf_cross_encoder,
    open_gguf_encoder,
    window_tokens,
)

if TYPE_CHECKING:
    from kb.embed.providers.provider import Provider

_DIGEST_CHARS = 12
_DIGEST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class GgufScorer:
    """A GGUF cross-encoder in memory; a pair a run."""

    label: str
    _encoder: GgufEncoder

    def score(self, question: str, passages: Sequence[str]) -> list[float]:
        """One logit a passage; of a passage that does not fit beside the question, as much as does is read."""
        asked = encoder_text(question)
        return [self._fitting(asked, encoder_text(passage)) for passage in passages]

    def _fitting(self, question: str, passage: str) -> float:
        while True:
            try:
                return self._encoder.score(question, passage)
            except PromptTooLong:
                if not passage:
                    raise
                passage = passage[: len(passage) * 3 // 4]


def gguf_model(provider: Provider, name: str) -> EmbeddingModel:
    """What the file called `name` encodes to; nothing is loaded. Raises: ModelMissing, ModelCorrupt."""
    path = find_gguf(provider.gguf_places, name, "models.embedding.model")
    facts = encoder_facts(path, "models.embedding.model")
    version = f"{LLAMA_CPP}:{_digest(path)}/{provider.form(name).label}"
    return EmbeddingModel(path.stem, version, facts.dimensions, window_tokens(facts))


def open_gguf_embedder(provider: Provider, name: str, threads: int) -> RowEmbedder:
    """The file called `name`, loaded, a text a run on `threads` cores. Raises: ModelMissing, ModelCorrupt."""
    model, form = gguf_model(provider, name), provider.form(name)
    path = find_gguf(provider.gguf_places, name, "models.embedding.model")
    encoder = open_gguf_encoder(path, form.pooling, threads)
    return RowEmbedder(model, LLAMA_CPP, form, lambda texts: [encoder.embed(text) for text in texts])


def open_gguf_scorer(places: Sequence[Path], name: str, threads: int) -> GgufScorer:
    """The cross-encoder called `name`, loaded. Raises: ModelMissing, ModelCorrupt."""
    path = find_gguf(places, name, "rerank.model")
    return GgufScorer(f"{LLAMA_CPP}:{path.stem}:{_digest(path)}", open_gguf_cross_encoder(path, threads))


def find_gguf(places: Sequence[Path], name: str, key: str) -> Path:
    """The file called `name`, with or without its ending, in the first of `places` with one. Raises: ModelMissing."""
    for place in places:
        path = place / (name.removesuffix(GGUF_SUFFIX) + GGUF_SUFFIX)
        if path.is_file():
            return path
    looked = " and ".join(map(str, dict.fromkeys(places)))
    raise ModelMissing(f"there is no {name.removesuffix(GGUF_SUFFIX)}{GGUF_SUFFIX} in {looked}", f"set {key} to a file")


def _digest(path: Path) -> str:
    """What tells one file from another: its size, its beginning and its end. Whole files take too long to read."""
    size = os.stat(path).st_size
    digest = hashlib.sha256(str(size).encode())
    with path.open("rb") as file:
        digest.update(file.read(_DIGEST_BYTES))
        file.seek(max(0, size - _DIGEST_BYTES))
        digest.update(file.read(_DIGEST_BYTES))
    return digest.hexdigest()[:_DIGEST_CHARS]
