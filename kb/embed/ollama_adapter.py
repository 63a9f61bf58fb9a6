"""Encoders that an Ollama server runs, over `/api/embed`: any embedding model that was pulled there.

The server cuts nothing (`truncate` is off): a text above the model's context is halved until it fits. What a
server that is busy or starting refuses is asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import sleep
from typing import TYPE_CHECKING, Any

from kb.domain.embeddings import EmbeddingModel, Role
from kb.embed.families import TextForm
from kb.embed.halving import vectors_of
from kb.embed.model_files import OLLAMA
from kb.embed.windows import normalised
from kb.errors import ModelUnreachable, StreamBroken
from kb.runtimes.ollama_http import OllamaServer, not_pulled
from kb.runtimes.token_estimate import estimated_tokens

if TYPE_CHECKING:
    from kb.domain.embeddings import Vectors
    from kb.embed.provider import Provider

# Seconds before each further try of one request.
RETRIES_AFTER_SECONDS = (0.5, 2.0, 5.0)

_DIGEST_CHARS = 12
_PROBE = "a"


@dataclass(frozen=True, slots=True)
class OllamaEmbedder:
    """A model on the server. `form` is what it reads before a text; `waits` are the seconds before each further try."""

    model: EmbeddingModel
    _server: OllamaServer
    _form: TextForm
    _waits: Sequence[float] = ()
    _wait: Callable[[float], None] = sleep

    @property
    def provider(self) -> str:
        """The server's kind."""
        return OLLAMA

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """float32[n, dimensions], L2 = 1, in the order of `texts`.

        Raises: ModelUnreachable, ModelNotPulled, ModelTimeout, StreamBroken.
        """
        import numpy as np

        if not texts:
            return np.empty((0, self.model.dimensions), dtype=np.float32)
        rows = vectors_of(self._asked, [self._form.text(text, role) for text in texts])
        return normalised(np.array(rows, dtype=np.float32))

    def encode(self, text: str) -> bytes:
        """float32[dimensions], L2 = 1, as little-endian bytes."""
        vector: bytes = self.embed([text], "query")[0].astype("<f4").tobytes()
        return vector

    def count_tokens(self, texts: Sequence[str], role: Role) -> list[int]:
        """The tokens of each text, its prefix included: an estimate, as the server counts none."""
        return [estimated_tokens(self._form.text(text, role)) for text in texts]

    def _asked(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text, of the model's dimensions; what may pass is tried again."""
        waits = iter(self._waits)
        while True:
            try:
                rows = embeddings(self._server, self.model.name, texts)
                break
            except (ModelUnreachable, StreamBroken) as error:
                seconds = next(waits, None)
                if seconds is None or not _may_pass(error):
                    raise
                self._wait(seconds)
        for row in rows:
            if len(row) != self.model.dimensions:
                raise StreamBroken(
                    f"{self.model.name} gave a vector of {len(row)} dimensions, and {self.model.dimensions} before",
                    "the model on the server was replaced: run `kb index --embeddings`",
                )
        return rows


def ollama_model(provider: Provider, name: str) -> EmbeddingModel:
    """What the server's model called `name` encodes to: its digest is part of the version, its dimensions are asked.

    Raises: ModelNotPulled, ModelUnreachable, ModelTimeout, StreamBroken.
    """
    server = provider.server()
    version = f"{OLLAMA}:{_digest(server, name)}/{provider.form(name).label}"
    (probe,) = embeddings(server, name, [_PROBE])
    return EmbeddingModel(name, version, len(probe), None)


def open_ollama_embedder(provider: Provider, name: str, waits: Sequence[float] = ()) -> OllamaEmbedder:
    """The model called `name` on the server; `waits` are the seconds before each further try of one request.

    Raises: as `ollama_model`.
    """
    return OllamaEmbedder(ollama_model(provider, name), provider.server(), provider.form(name), waits)


def embeddings(server: OllamaServer, name: str, texts: Sequence[str]) -> list[list[float]]:
    """One vector a text. Raises: PromptTooLong, ModelNotPulled, ModelUnreachable, ModelTimeout, StreamBroken."""
    answered = server.ask("/api/embed", {"model": name, "input": list(texts), "truncate": False}, name)
    rows: Any = answered.get("embeddings")
    if not _are_vectors(rows, len(texts)):
        raise StreamBroken(
            f"the server gave no {len(texts)} vectors of {name}", "see that it is an embedding model: ollama show"
        )
    vectors: list[list[float]] = rows
    return vectors


def _may_pass(error: ModelUnreachable | StreamBroken) -> bool:
    """Whether the next try may succeed: the server is starting or broke off, and has not said no."""
    return int(error.details.get("status", "500")) >= 500


def _are_vectors(rows: Any, count: int) -> bool:
    return (
        isinstance(rows, list)
        and len(rows) == count
        and all(isinstance(row, list) and row and all(type(value) in (int, float) for value in row) for row in rows)
    )


def _digest(server: OllamaServer, name: str) -> str:
    """What tells one build of a model from another. Raises: ModelNotPulled."""
    tagged = name if ":" in name.rpartition("/")[2] else f"{name}:latest"
    listed = server.ask("/api/tags", None).get("models")
    for model in listed if isinstance(listed, list) else ():
        if isinstance(model, dict) and model.get("name") == tagged:
            return str(model.get("digest", "unknown")).removeprefix("sha256:")[:_DIGEST_CHARS]
    raise not_pulled(name)
