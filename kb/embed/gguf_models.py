"""Encoders and cross-encoders in the user's GGUF files, run in this process by llama.cpp."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kb.domain.embeddings import EmbeddingModel
from kb.embed.provider import GGUF_SUFFIX, LLAMA_CPP
from kb.embed.row_embedder import RowEmbedder
from kb.embed.text import encoder_text
from kb.errors import ModelCorrupt, ModelMissing, PromptTooLong
from kb.runtimes.gguf import GgufRuntime, load_gguf
from kb.runtimes.gguf_file import CLS, LAST, MEAN, RANK, GgufFacts, read_gguf

if TYPE_CHECKING:
    from kb.embed.provider import Provider

MOST_TOKENS = 2048
"""The most tokens of one run; passages have some 500."""

_ENCODER, _SCORER = "models.embedding.model", "rerank.model"
_POOLINGS = {"mean": MEAN, "cls": CLS, "last": LAST}

_DIGEST_CHARS = 12
_DIGEST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class GgufScorer:
    """A GGUF cross-encoder in memory, which scores one pair per run."""

    label: str
    _runtime: GgufRuntime

    def score(self, question: str, passages: Sequence[str]) -> list[float]:
        """One logit per passage; a passage too long for the context is cut."""
        asked = encoder_text(question)
        return [self._fitting(asked, encoder_text(passage)) for passage in passages]

    def _fitting(self, question: str, passage: str) -> float:
        while True:
            try:
                return self._runtime.score(question, passage)
            except PromptTooLong:
                if not passage:
                    raise
                passage = passage[: len(passage) * 3 // 4]


def gguf_model(provider: Provider, name: str) -> EmbeddingModel:
    """The vector space of the file called `name`; nothing is loaded. Raises: ModelMissing, ModelCorrupt."""
    return _encoder(provider, name)[0]


def open_gguf_embedder(provider: Provider, name: str, threads: int) -> RowEmbedder:
    """The file called `name`, loaded, one text per run on `threads` cores. Raises: ModelMissing, ModelCorrupt."""
    model, path, facts = _encoder(provider, name)
    form = provider.form(name)
    pooling = _POOLINGS[form.pooling] if form.pooling else facts.pooling or MEAN
    runtime = load_gguf(path, _window_tokens(facts), threads, pooling)
    return RowEmbedder(model, LLAMA_CPP, form, lambda texts, role: [runtime.embed(text) for text in texts])


def open_gguf_scorer(places: Sequence[Path], name: str, threads: int) -> GgufScorer:
    """The cross-encoder called `name`, loaded. Raises: ModelMissing; ModelCorrupt also without a head that scores."""
    path = _find(places, name, _SCORER)
    facts = read_gguf(path, _SCORER)
    if facts.pooling != RANK:
        raise ModelCorrupt(f"{path} is no cross-encoder: it says nothing of rank pooling", "set rerank.model to one")
    runtime = load_gguf(path, _window_tokens(facts), threads, RANK)
    return GgufScorer(f"{LLAMA_CPP}:{path.stem}:{_digest(path)}", runtime)


def _encoder(provider: Provider, name: str) -> tuple[EmbeddingModel, Path, GgufFacts]:
    """The file called `name` and its facts. Raises: ModelMissing; ModelCorrupt where it makes no vectors."""
    path = _find(provider.gguf_places, name, _ENCODER)
    facts = read_gguf(path, _ENCODER)
    if facts.pooling == RANK:
        raise ModelCorrupt(f"{path} is a cross-encoder: it gives scores, not vectors", "set rerank.model to it")
    if facts.dimensions is None:
        hint = f"set {_ENCODER} to a GGUF file that is an encoder"
        raise ModelCorrupt(f"{path} does not give the dimensions of its vectors", hint)
    version = f"{LLAMA_CPP}:{_digest(path)}/{provider.form(name).label}"
    return EmbeddingModel(path.stem, version, facts.dimensions, _window_tokens(facts)), path, facts


def _window_tokens(facts: GgufFacts) -> int:
    return min(facts.context_tokens, MOST_TOKENS)


def _find(places: Sequence[Path], name: str, key: str) -> Path:
    """The file called `name`, with or without its ending, in the first of `places` with one. Raises: ModelMissing."""
    file = name.removesuffix(GGUF_SUFFIX) + GGUF_SUFFIX
    path = next((place / file for place in places if (place / file).is_file()), None)
    if path is None:
        looked = " and ".join(map(str, dict.fromkeys(places)))
        raise ModelMissing(f"there is no {file} in {looked}", f"set {key} to a file")
    return path


def _digest(path: Path) -> str:
    """A digest of a file's size, beginning and end. Whole files take too long to read."""
    size = os.stat(path).st_size
    digest = hashlib.sha256(str(size).encode())
    with path.open("rb") as file:
        digest.update(file.read(_DIGEST_BYTES))
        file.seek(max(0, size - _DIGEST_BYTES))
        digest.update(file.read(_DIGEST_BYTES))
    return digest.hexdigest()[:_DIGEST_CHARS]
