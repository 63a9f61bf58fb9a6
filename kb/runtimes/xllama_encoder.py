"""A GGUF encoder or cross-encoder in xllamacpp."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kb.errors import ModelError, PromptTooLong
from kb.runtimes.xllama_server import XllamaServer


class XllamaEncoder:
    """A loaded file."""

    library = "xllamacpp"

    def __init__(self, path: Path, pooling: int, tokens: int, threads: int) -> None:
        """Loads it. Raises: ModelCorrupt for a file that does not load."""
        import xllamacpp

        def configure(params: Any) -> None:
            params.embedding = True
            params.pooling_type = xllamacpp.llama_pooling_type(pooling)
            params.n_batch = params.n_ubatch = tokens

        self._server = XllamaServer(path, tokens, threads, configure).server

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
