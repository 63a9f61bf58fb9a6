"""Encoders on an Ollama server, over `/api/embed`: any embedding model that was pulled there.

The server cuts nothing (`truncate` is off): a text above the model's context is halved until it fits. A request that a
busy or starting server refuses is retried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import sleep
from typing import TYPE_CHECKING, Any

from kb.domain.embeddings import EmbeddingModel, Role
from kb.embed.provider import OLLAMA
from kb.embed.row_embedder import RowEmbedder
from kb.errors import ModelUnreachable, StreamBroken
from kb.runtimes.ollama_http import OllamaServer, pulled_models, require_pulled

if TYPE_CHECKING:
    from kb.embed.provider import Provider

# Seconds before each retry of a request.
RETRIES_AFTER_SECONDS = (0.5, 2.0, 5.0)

_DIGEST_CHARS = 12
_PROBE = "a"


@dataclass(frozen=True, slots=True)
class OllamaRows:
    """Vectors from a model on the server; `waits` are the seconds before each retry."""

    model: EmbeddingModel
    server: OllamaServer
    waits: Sequence[float] = ()
    wait: Callable[[float], None] = sleep

    def __call__(self, texts: Sequence[str], role: Role) -> list[list[float]]:
        """One vector per text, of the model's dimensions; temporary failures are retried.

        Raises: PromptTooLong, ModelUnreachable, ModelNotPulled, ModelTimeout, StreamBroken.
        """
        waits = iter(self.waits)
        while True:
            try:
                rows = embeddings(self.server, self.model.name, texts)
                break
            except (ModelUnreachable, StreamBroken) as error:
                seconds = next(waits, None)
                if seconds is None or not _may_pass(error):
                    raise
                self.wait(seconds)
        for row in rows:
            if len(row) != self.model.dimensions:
                raise StreamBroken(
                    f"{self.model.name} gave a vector of {len(row)} dimensions, and {self.model.dimensions} before",
                    "the model on the server was replaced: run `kb index --embeddings`",
                )
        return rows


def ollama_model(provider: Provider, name: str) -> EmbeddingModel:
    """The vector space of the server's model called `name`; its version has the digest, one text gives its dimensions.

    Raises: ModelNotPulled, ModelUnreachable, ModelTimeout, StreamBroken.
    """
    server = provider.server()
    digest = require_pulled(pulled_models(server), name).removeprefix("sha256:")[:_DIGEST_CHARS]
    version = f"{OLLAMA}:{digest}/{provider.form(name).label}"
    (probe,) = embeddings(server, name, [_PROBE])
    return EmbeddingModel(name, version, len(probe), None)


def open_ollama_embedder(provider: Provider, name: str, waits: Sequence[float] = ()) -> RowEmbedder:
    """The model called `name` on the server; `waits`: seconds before each retry. Raises: as `ollama_model`."""
    model = ollama_model(provider, name)
    return RowEmbedder(model, OLLAMA, provider.form(name), OllamaRows(model, provider.server(), waits))


def embeddings(server: OllamaServer, name: str, texts: Sequence[str]) -> list[list[float]]:
    """One vector per text, as the server gives it.

    Raises: PromptTooLong, ModelNotPulled, ModelUnreachable, ModelTimeout, StreamBroken.
    """
    answered = server.ask("/api/embed", {"model": name, "input": list(texts), "truncate": False}, name)
    rows: Any = answered.get("embeddings")
    if not _are_vectors(rows, len(texts)):
        raise StreamBroken(
            f"the server gave no {len(texts)} vectors of {name}", "see that it is an embedding model: ollama show"
        )
    vectors: list[list[float]] = rows
    return vectors


def _may_pass(error: ModelUnreachable | StreamBroken) -> bool:
    """Whether a retry may succeed: the server is starting or broke off, and has not refused."""
    return int(error.details.get("status", "500")) >= 500


def _are_vectors(rows: Any, count: int) -> bool:
    return (
        isinstance(rows, list)
        and len(rows) == count
        and all(isinstance(row, list) and row and all(type(value) in (int, float) for value in row) for row in rows)
    )
