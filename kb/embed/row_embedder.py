"""The embedder of a model that a server, llama.cpp or a plugin runs: formatted texts → rows of numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from kb.domain.embeddings import EmbeddingModel, EncodedQuestion, Role
from kb.embed.codec import normalised
from kb.embed.provider import TextForm
from kb.errors import PromptTooLong
from kb.runtimes.token_estimate import estimated_tokens

if TYPE_CHECKING:
    from kb.domain.embeddings import Vectors

Rows: TypeAlias = Sequence[Sequence[float]]

# A shorter text that is reported as too long is not halved: the model has another fault.
_SHORTEST_CHARS = 16


@dataclass(frozen=True, slots=True)
class RowEmbedder:
    """Embeds many texts or one. `rows` returns the numbers of each text; it raises PromptTooLong for a long one.

    `form` is how the model reads a text, `provider` who runs it.
    """

    model: EmbeddingModel
    provider: str
    form: TextForm
    rows: Callable[[Sequence[str], Role], Rows]

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """float32[n, dimensions], L2 = 1, in the order of `texts`. Raises: ModelError, as `rows`."""
        import numpy as np

        if not texts:
            return np.empty((0, self.model.dimensions), dtype=np.float32)
        formed = [self.form.text(text, role) for text in texts]
        return normalised(np.array(_fitting(lambda each: self.rows(each, role), formed), dtype=np.float32))

    def encode(self, text: str) -> EncodedQuestion:
        """The vector alone."""
        return EncodedQuestion(self.embed([text], "query")[0].astype("<f4").tobytes())

    def count_tokens(self, texts: Sequence[str], role: Role) -> list[int]:
        """A high estimate of the tokens of each text, with its prefix."""
        return [estimated_tokens(self.form.text(text, role)) for text in texts]


def _fitting(encode: Callable[[Sequence[str]], Rows], texts: Sequence[str]) -> Rows:
    """One vector per text; for one that does not fit, the mean over its (repeatedly halved) parts, weighted by length.

    Only the model knows what fits: `encode` raises PromptTooLong. Raises: PromptTooLong for a short text.
    """
    try:
        return encode(texts)
    except PromptTooLong:
        if len(texts) > 1:
            return [row for text in texts for row in _fitting(encode, [text])]
        if len(texts[0]) < _SHORTEST_CHARS:
            raise
    text = texts[0]
    middle = text.rfind(" ", 1, len(text) // 2) + 1 or len(text) // 2
    first, second = (_fitting(encode, [half])[0] for half in (text[:middle], text[middle:]))
    share = middle / len(text)
    return [[share * one + (1 - share) * other for one, other in zip(first, second, strict=True)]]
