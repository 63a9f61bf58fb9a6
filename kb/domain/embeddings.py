"""Embedding models and their encoders. Vectors are float32, L2 = 1, and are compared by cosine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, Protocol, TypeAlias

from kb.domain.on_wire import Wire, on_wire

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors: TypeAlias = NDArray[np.float32]

Role = Literal["query", "passage"]


class VectorAddress(NamedTuple):
    """The address of vectors in an object store, `s3://bucket/folder`, and client options, without credentials."""

    uri: str
    options: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return self.uri


VectorPlace: TypeAlias = Path | VectorAddress
"""Where Lance's tables are."""


class EmbeddingModel(NamedTuple):
    """The identity of a vector space. Equal models give comparable vectors on every machine.

    `window_tokens` is how many tokens the encoder reads at once, special tokens included; None if it has no limit or kb
    does not know it. A longer text is encoded window by window, and the vectors are averaged. `has_tokens`: whether the
    model also gives a vector for each token of a passage.
    """

    name: str
    version: str
    dimensions: int
    window_tokens: int | None
    has_tokens: bool = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EmbeddingModel) and self[:3] == other[:3]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self[:3])


class EncodedQuestion(NamedTuple):
    """`vector`: float32[dimensions]; `tokens`: float32[n, dimensions] or None. Little-endian, rows of L2 = 1."""

    vector: bytes
    tokens: bytes | None = None


@on_wire(title="CoverageV1")
class SlotCoverage(NamedTuple):
    """How many passages a configured model has embedded, of how many; passages of source code are not counted."""

    slot: Annotated[str, Wire(type=Literal["primary", "secondary"])]
    model_id: str
    chunks: Annotated[int, Wire("passages")]
    embedded: int


class PassageTokens(NamedTuple):
    """The pooled tokens of a passage: `count` rows of `components` numbers, `bits` each; 0 rows if none are kept.

    `tokens`: count × components / 2 bytes, row after row. Byte j of a row holds component j in the low four bits and
    component j + components / 2 in the high four, each as value + 8 with values from −7 to 7. Then follows the scale of
    each row as little-endian float16. The length of a row is about 1.
    """

    count: int  # type: ignore[assignment]  # over the method of tuples, which nobody calls
    components: int
    bits: int
    tokens: bytes


class Embedder(Protocol):
    """Encodes many texts, for indexing. Loading one may take a second."""

    @property
    def model(self) -> EmbeddingModel:
        """The vector space of the embedder."""

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """Encodes `texts` as float32[n, dimensions], L2 = 1, in their order."""

    def count_tokens(self, texts: Sequence[str], role: Role) -> list[int]:
        """The number of tokens of each text as the encoder reads it, prefix and special tokens included."""


class TokenEmbedder(Embedder, Protocol):
    """An embedder whose model gives token vectors and the passage vector in one forward pass."""

    def embed_passages(self, texts: Sequence[str]) -> tuple[Vectors, list[PassageTokens]]:
        """The vectors of passages, as `embed` gives them, and the pooled tokens of each passage."""


class QueryEncoder(Protocol):
    """Encodes one question. A search in a fresh process waits for it, so it must load fast."""

    @property
    def model(self) -> EmbeddingModel:
        """The vector space, equal to that of the bulk embedder."""

    @property
    def provider(self) -> str:
        """What computes the vector: `onnxruntime`, or the program that runs the model."""

    def encode(self, text: str) -> EncodedQuestion:
        """The question's vector, in the form that sqlite-vec takes, and the vectors of its tokens, if it gives any."""
