"""Embedding models and their encoders: vectors are float32, L2 = 1, compared by cosine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Protocol, TypeAlias

from kb.domain.on_wire import Wire, on_wire
from kb.records import NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors: TypeAlias = NDArray[np.float32]

Role = Literal["query", "passage"]


class VectorAddress(NamedTuple):
    """Where an object store keeps vectors, `s3://bucket/folder`, and options of its client, no credentials."""

    uri: str
    options: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return self.uri


VectorPlace: TypeAlias = Path | VectorAddress
"""Where Lance's tables are."""


class EmbeddingModel(NamedTuple):
    """The identity of a vector space. Equal models give comparable vectors, on every machine.

    `window_tokens` is what the encoder sees at once, its own marks included; None when it has no window, or kb does not
    know it. A longer text is encoded window by window and averaged. `has_tokens`: whether it gives a passage's tokens.
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
    """`vector`: float32[dimensions]; `tokens`: float32[n, dimensions], None if the encoder gives none.

    Little-endian bytes, each row L2 = 1.
    """

    vector: bytes
    tokens: bytes | None = None


@on_wire(title="CoverageV1")
class SlotCoverage(NamedTuple):
    """How many passages a model in use has embedded; those of source code are not."""

    slot: Annotated[str, Wire(type=Literal["primary", "secondary"])]
    model_id: str
    chunks: Annotated[int, Wire("passages")]
    embedded: int


class PassageTokens(NamedTuple):
    """The pooled tokens of a passage: `count` rows of `components` numbers, `bits` each; 0 rows: none are kept.

    `tokens`: count x components / 2 bytes, row after row, component j in the low four bits of byte j and component
    j + components / 2 in the high ones, each 8 more than its value of -7 to 7; then the scale of each row as float16,
    little-endian. A row's length is about 1.
    """

    count: int  # type: ignore[assignment]  # over the method of tuples, which nobody calls
    components: int
    bits: int
    tokens: bytes


class Embedder(Protocol):
    """Encodes many texts, for indexing. Loading one may take a second."""

    @property
    def model(self) -> EmbeddingModel:
        """The vector space."""

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """float32[n, dimensions], L2 = 1, in the order of `texts`."""

    def count_tokens(self, texts: Sequence[str], role: Role) -> list[int]:
        """The tokens of each text as the encoder sees it: prefix and marks included."""


class TokenEmbedder(Embedder, Protocol):
    """An embedder of a model that gives tokens, from the forward pass that gives the vector."""

    def embed_passages(self, texts: Sequence[str]) -> tuple[Vectors, list[PassageTokens]]:
        """The vectors as of `embed`, and the tokens of each passage, pooled."""


class QueryEncoder(Protocol):
    """Encodes one question, for a search in a fresh process, so it must load at once."""

    @property
    def model(self) -> EmbeddingModel:
        """The vector space, the same as the bulk embedder's."""

    @property
    def provider(self) -> str:
        """What computes the vector: `onnxruntime`, or the program that runs the model."""

    def encode(self, text: str) -> EncodedQuestion:
        """The question's vector, in the form that sqlite-vec takes, and its tokens."""
