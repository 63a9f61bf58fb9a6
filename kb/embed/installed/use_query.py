"""The query encoder of Universal Sentence Encoder multilingual v3: ready without loading a tokenizer or numpy.

A process that has numpy already multiplies with it; a fresh one with the bare BLAS library, where there is one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from kb.domain.embeddings import EmbeddingModel
from kb.embed.installed.blas import open_blas
from kb.embed.installed.use_files import FIRST_TOKEN, LAST_TOKEN
from kb.embed.installed.use_single import open_single_network
from kb.embed.installed.vocabulary import VOCABULARY_FILE, UnigramVocabulary, open_vocabulary
from kb.embed.text import encoder_text
from kb.records import NamedTuple


class UseQueryEncoder(NamedTuple):
    """A network that encodes one text's token ids, behind the mapped vocabulary; `provider` is what multiplies."""

    model: EmbeddingModel
    provider: str
    encode_ids: Callable[[Sequence[int]], bytes]
    vocabulary: UnigramVocabulary

    def encode(self, text: str) -> bytes:
        """float32[512], L2 = 1, as little-endian bytes."""
        return self.encode_ids([FIRST_TOKEN, *self.vocabulary.token_ids(encoder_text(text)), LAST_TOKEN])


def open_use_query_encoder(directory: Path, model: EmbeddingModel) -> UseQueryEncoder:
    """The query encoder of the files in `directory`. Raises: ModelCorrupt when they do not load."""
    vocabulary = open_vocabulary(directory / VOCABULARY_FILE)
    blas = None if "numpy" in sys.modules else open_blas()
    if blas is not None:
        return UseQueryEncoder(model, "blas", open_single_network(directory, blas).encode, vocabulary)
    from kb.embed.installed.use_adapter import open_network

    return UseQueryEncoder(model, "numpy", open_network(directory).encode_one, vocabulary)
