"""A GGUF encoder or cross-encoder in xllamacpp: llama.cpp's own server inside this process, asked without HTTP.

The server also listens on a free port of 127.0.0.1, which cannot be switched off; a random key keeps others out.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from kb.errors import ModelCorrupt, ModelError, PromptTooLong


class XllamaEncoder:
    """A loaded file."""

    library = "xllamacpp"

    def __init__(self, path: Path, pooling: int, tokens: int, threads: int) -> None:
        """Loads it. Raises: ModelCorrupt for a file that does not load."""
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.embedding = True
        params.pooling_type = xllamacpp.llama_pooling_type(pooling)
        params.n_ctx = params.n_batch = params.n_ubatch = tokens
        params.n_parallel = 1
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        params.api_keys = [secrets.token_urlsafe()]
        params.endpoint_slots = params.endpoint_props = params.ui = params.warmup = False
        params.verbosity = -1
        try:
            self._server: Any = xllamacpp.Server(params)
        except (RuntimeError, ValueError, OSError) as error:
            hint = "use another GGUF file, or a newer xllamacpp"
            raise ModelCorrupt(f"{path} cannot be loaded: {error}", hint) from error

    def embed(self, text: str) -> list[float]:
        """The vector of a text."""
        answered = self._server.handle_embeddings({"input": [text], "model": ""})
        vector: list[float] = _checked(answered)["data"][0]["embedding"]
        return vector

    def score(self, question: str, passage: str) -> float:
        """The logit of a pair."""
        answered = self._server.handle_rerank({"query": question, "documents": [passage]})
        return float(_checked(answered)["results"][0]["relevance_score"])


def _checked(answered: dict[str, Any]) -> dict[str, Any]:
    """What was answered. Raises: PromptTooLong, ModelError."""
    if "error" not in answered:
        return answered
    message = str(answered["error"].get("message", answered["error"]))
    if "too large" in message or "context" in message:
        raise PromptTooLong(message)
    raise ModelError(f"llama.cpp gave up: {message}", "the model may need more memory than there is")
