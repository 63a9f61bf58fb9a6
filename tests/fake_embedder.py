"""Embedding models for tests: each word of a text counts in a direction of its own, so shared words make near texts."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from kb.domain.embeddings import EmbeddingModel, EncodedQuestion, PassageTokens, Role
from kb.embed.passage_tokens import packed_tokens
from kb.errors import ModelError, ModelMissing
from kb.models.manifest import ENCODER_ADAPTER, InstalledModel, ModelFacts, write_manifest

Vectors = NDArray[np.float32]

PRIMARY = "fake-primary"
WIDE = "fake-wide"

# Where kb looks a model up, and by which of the three doors.
_DOORS = (
    ("kb.operations.embedding.batch_vectors.embedding_model", "model"),
    ("kb.operations.embedding.batch_vectors.bulk_embedder", "embedder"),
    ("kb.operations.doctor.models_and_vectors.embedding_model", "model"),
    ("kb.operations.doctor.models_and_vectors.bulk_embedder", "another"),
    ("kb.embed.encoders.query_encoder", "embedder"),
)


class FakeEmbedder:
    """Encodes in bulk and singly alike; `texts` is every passage it was given in bulk."""

    def __init__(self, model: EmbeddingModel) -> None:
        self.model = model
        self.provider = "hashed-words"
        self.texts: list[str] = []
        self.fails_after: int | None = None

    def renamed(self, name: str) -> FakeEmbedder:
        """Another model with this one's dimensions."""
        return FakeEmbedder(self.model._replace(name=name))

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """float32[n, dimensions], L2 = 1."""
        if role == "passage":
            if self.fails_after is not None and len(self.texts) >= self.fails_after:
                raise ModelError("the fake model gives up")
            self.texts += texts
        return np.stack([hashed_words(text, self.model.dimensions) for text in texts])

    def embed_passages(self, texts: Sequence[str]) -> tuple[Vectors, list[PassageTokens]]:
        """The vectors, and the words of each text as its tokens."""
        dimensions = self.model.dimensions
        words = [np.stack([hashed_words(word, dimensions) for word in text.split() or [text]]) for text in texts]
        return self.embed(texts, "passage"), [packed_tokens(each) for each in words]

    def count_tokens(self, texts: Sequence[str], role: Role) -> list[int]:
        """The words of each text."""
        return [len(text.split()) for text in texts]

    def encode(self, text: str) -> EncodedQuestion:
        """The vector alone."""
        return EncodedQuestion(hashed_words(text, self.model.dimensions).tobytes())


class FakeModels:
    """The installed models, by name."""

    def __init__(self) -> None:
        self.embedders = {
            name: FakeEmbedder(EmbeddingModel(name, "1", dimensions, 512, has_tokens=True))
            for name, dimensions in ((PRIMARY, 32), (WIDE, 48))
        }

    def model(self, model_dir: Path, name: str, provider: object = None) -> EmbeddingModel:
        """What a model encodes to. Raises: ModelMissing."""
        return self.embedder(model_dir, name).model

    def embedder(
        self, model_dir: Path, name: str, threads: object = 1, provider: object = None, *, many: bool = False
    ) -> FakeEmbedder:
        """The embedder of a model. Raises: ModelMissing."""
        if name not in self.embedders:
            raise ModelMissing(f"the model {name} is not installed", f"run `kb models install {name}`")
        return self.embedders[name]

    def another(self, model_dir: Path, name: str, threads: object = 1, provider: object = None) -> FakeEmbedder:
        """An embedder of a model whose texts are not counted. Raises: ModelMissing."""
        return self.embedder(model_dir, name).renamed(name)

    def put_in_place(self, replace: Callable[[str, object], None]) -> None:
        """Replaces every look-up of a model."""
        for door, method in _DOORS:
            replace(door, getattr(self, method))

    @property
    def calls(self) -> int:
        """Texts that were embedded, by all models together."""
        return sum(len(embedder.texts) for embedder in self.embedders.values())


def write_own_manifest(folder: Path, model: EmbeddingModel) -> None:
    """Makes a folder that holds what a model says of itself, and none of its files."""
    folder.mkdir(parents=True)
    write_manifest(folder, InstalledModel(ModelFacts(*model[:4]), ENCODER_ADAPTER, "MIT", "tests", "tests", ()))


def hashed_words(text: str, dimensions: int) -> Vectors:
    """float32[dimensions], L2 = 1: the sum of the words' directions."""
    vector = np.full(dimensions, 1e-3, np.float32)
    for word in re.findall(r"\w+", text.lower()):
        vector += _direction(word, dimensions)
    return (vector / np.linalg.norm(vector)).astype("<f4")


@cache
def _direction(word: str, dimensions: int) -> Vectors:
    """float32[dimensions] of a word."""
    digest = hashlib.blake2b(f"{dimensions} {word}".encode(), digest_size=8).digest()
    return np.random.default_rng(int.from_bytes(digest, "big")).standard_normal(dimensions).astype(np.float32)


@pytest.fixture
def fake_models(monkeypatch: pytest.MonkeyPatch) -> FakeModels:
    """The fake models in the place of the real ones."""
    models = FakeModels()
    models.put_in_place(lambda door, fake: monkeypatch.setattr(door, fake))
    return models


@pytest.fixture(scope="module")
def models() -> Iterator[FakeModels]:
    """The same for all tests of a module."""
    found = FakeModels()
    with pytest.MonkeyPatch.context() as patched:
        found.put_in_place(lambda door, fake: patched.setattr(door, fake))
        yield found
