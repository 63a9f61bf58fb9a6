"""Keeps the vectors of a benchmark's questions between its runs: encoding them takes longer than all the searching.

The encoder is the one a search uses; it is asked for what the file does not hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

from kb.domain.embeddings import EmbeddingModel, EncodedQuestion, QueryEncoder
from kb.embed import encoders
from kb.embed.codec import FLOAT_BYTES
from kb.embed.encoders import query_encoder
from kb.embed.provider import AUTO, Provider
from kb.store.caches import CachedVector, VectorCache

_MOST_BYTES = 1_000_000_000


class Remembering:
    """A query encoder whose answers are kept."""

    def __init__(self, encoder: QueryEncoder, kept: VectorCache) -> None:
        self._encoder = encoder
        self._kept = kept

    @property
    def model(self) -> EmbeddingModel:
        """The vector space."""
        return self._encoder.model

    @property
    def provider(self) -> str:
        """What computes those it is asked for."""
        return self._encoder.provider

    def encode(self, text: str) -> EncodedQuestion:
        """The vector first, the tokens behind it; both are kept as one."""
        vector_bytes = FLOAT_BYTES * self.model.dimensions
        found = self._kept.get([text]).get(text)
        if found is None:
            encoded = self._encoder.encode(text)
            found = CachedVector(encoded.vector + (encoded.tokens or b""), 0)
            self._kept.put({text: found})
        return EncodedQuestion(found.vector[:vector_bytes], found.vector[vector_bytes:] or None)


@contextmanager
def remembered_questions(path: Path) -> Iterator[None]:
    """Within, searches take the vectors of questions that were asked before from the file at `path`."""
    with ExitStack() as opened:

        def remembering(model_dir: Path, name: str, provider: Provider = AUTO, *, many: bool = False) -> QueryEncoder:
            encoder = query_encoder(model_dir, name, provider, many=many)
            kept = VectorCache(path, f"{name}@{encoder.model.version}/query by {encoder.provider}", _MOST_BYTES)
            opened.callback(kept.close)
            return Remembering(encoder, kept)

        with patch.object(encoders, "query_encoder", remembering):
            yield
