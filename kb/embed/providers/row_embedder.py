"""The embedder of a model that somebody else runs, a server or llama.cpp: texts in its form in, rows of numbers out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kb.domain.embeddings import EmbeddingModel, EncodedQuestion, Role
from kb.embed.codec import normalised
from kb.embed.providers.families import TextForm
from kb.embed.providers.halving import vectors_of
from kb.runtimes.token_estimate import estimated_tokens

if TYPE_CHECKING:
    from kb.domain.embeddings import Vectors


@dataclass(frozen=True, slots=True)
class RowEmbedder:
    """For many texts and for one. `rows` gives each text its numbers; it raises PromptTooLong for one that is too long.

    `form` is what the model reads before a text, `provider` who runs it.
    """

    model: EmbeddingModel
    provider: str
    form: TextForm
    rows: Callable[[Sequence[str]], list[list[float]]]

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """float32[n, dimensions], L2 = 1, in the order of `texts`. Raises: ModelError, as `rows`."""
        import numpy as np

        if not texts:
            return np.empty((0, self.model.dimensions), dtype=np.float32)
        rows = vectors_of(self.rows, [self.form.text(text, role) for text in texts])
        return normalised(np.array(rows, dtype=np.float32))

    def encode(self, text: str) -> EncodedQuestion:
        """The vector alone."""
        return EncodedQuestion(self.embed([text], "query")[0].astype("<f4").tobytes())

    def count_tokens(self, texts: Sequence[str], role: Role) -> list[int]:
        """The tokens of each text, its prefix included: an estimate, on the high side."""
        return [estimated_tokens(self.form.text(text, role)) for text in texts]
