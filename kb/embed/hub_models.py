"""Encoders and cross-encoders of fastembed, for machines that reach a model hub.

Only `kb models install NAME` fetches; indexing and search open models of the hub cache below the model directory.
fastembed adds no prefixes and cuts texts at the window, so this adapter adds the prefixes and splits long texts first.
A late-interaction model (ColBERT) gives tokens, which are pooled and packed like those of kb's own encoder. A question
and passage that together exceed a cross-encoder's window (512 tokens at most) are cut at their end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kb.domain.embeddings import EmbeddingModel, EncodedQuestion, PassageTokens, Role
from kb.embed.codec import normalised
from kb.embed.provider import AUTO, HUB, Provider, TextForm
from kb.embed.text import encoder_text
from kb.errors import ModelCorrupt, ModelError, ModelMissing
from kb.models.requirements import lacking_packages, require
from kb.private import fetching, unreported

if TYPE_CHECKING:
    from kb.domain.embeddings import Vectors

HUB_DIRECTORY = "hub"

_BATCH_TEXTS = 16
_BATCH_PAIRS = 4
# A piece cut between two tokens can take a few more tokens by itself.
_SPARE_TOKENS = 16


@dataclass(frozen=True, slots=True)
class _Piece:
    text: int
    content: str
    tokens: int


@dataclass(frozen=True, slots=True)
class HubEmbedder:
    """A fastembed model in memory, for many texts or one.

    A text longer than the window is cut between tokens, and the vectors of its pieces are averaged.
    """

    model: EmbeddingModel
    _fastembed: Any
    _form: TextForm

    @property
    def provider(self) -> str:
        """The library that runs the model."""
        return HUB

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """float32[n, dimensions], L2 = 1, in the order of `texts`."""
        import numpy as np

        sums = np.zeros((len(texts), self.model.dimensions), dtype=np.float32)
        for piece, vector in self._encoded(texts, role):
            sums[piece.text] += vector * max(piece.tokens, 1)
        return normalised(sums)

    def encode(self, text: str) -> EncodedQuestion:
        """The vector alone."""
        return EncodedQuestion(self.embed([text], "query")[0].astype("<f4").tobytes())

    def count_tokens(self, texts: Sequence[str], role: Role) -> list[int]:
        """The tokens of each text as the encoder sees it, with prefix and special tokens."""
        counts = []
        for text in texts:
            encoding = self._fastembed.model.tokenizer.encode(self._form.text(text, role))
            marks = sum(encoding.special_tokens_mask)
            counts.append(len(_content_offsets(encoding)) + marks)
        return counts

    def _encoded(self, texts: Sequence[str], role: Role) -> Iterator[tuple[_Piece, Vectors]]:
        """The pieces of the texts with fastembed's output for each; those of one text in their order."""
        pieces = [
            piece for index, text in enumerate(texts) for piece in self._pieces(index, self._form.text(text, role))
        ]
        pieces.sort(key=lambda piece: piece.tokens, reverse=True)
        encode = self._fastembed.query_embed if role == "query" else self._fastembed.passage_embed
        return zip(pieces, encode([piece.content for piece in pieces], batch_size=_BATCH_TEXTS), strict=True)

    def _pieces(self, index: int, text: str) -> list[_Piece]:
        encoding = self._fastembed.model.tokenizer.encode(text)
        offsets = _content_offsets(encoding)
        if not encoding.overflowing:
            return [_Piece(index, text, len(offsets))]
        step = len(encoding.ids) - _SPARE_TOKENS
        starts = [0, *(offsets[at][0] for at in range(step, len(offsets), step)), len(text)]
        tokens = [min(step, len(offsets) - at) for at in range(0, len(offsets), step)]
        return [
            _Piece(index, text[start:end], count) for start, end, count in zip(starts, starts[1:], tokens, strict=False)
        ]


class HubTokenEmbedder(HubEmbedder):
    """A late-interaction model of fastembed: one vector per token, encoded differently for questions and passages.

    The vector of a text is the normalised mean of its token vectors, since the model gives no other. A longer text has
    the tokens of all its pieces.
    """

    __slots__ = ()

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """float32[n, dimensions], L2 = 1, in the order of `texts`."""
        return self._means(self._states(texts, role))

    def embed_passages(self, texts: Sequence[str]) -> tuple[Vectors, list[PassageTokens]]:
        """The vectors of passages, as from `embed`, and their tokens, in one pass of the encoder."""
        from kb.embed.passage_tokens import packed_tokens

        states = self._states(texts, "passage")
        return self._means(states), [packed_tokens(each) for each in states]

    def encode(self, text: str) -> EncodedQuestion:
        """The vector and the tokens."""
        states = self._states([text], "query")
        return EncodedQuestion(self._means(states)[0].astype("<f4").tobytes(), states[0].astype("<f4").tobytes())

    def _states(self, texts: Sequence[str], role: Role) -> list[Vectors]:
        """The token vectors of each text, float32[tokens, dimensions], each L2 = 1."""
        import numpy as np

        parts: list[list[Vectors]] = [[] for _ in texts]
        for piece, states in self._encoded(texts, role):
            parts[piece.text].append(normalised(states))
        return [np.concatenate(each) for each in parts]

    def _means(self, states: Sequence[Vectors]) -> Vectors:
        import numpy as np

        means = np.array([each.mean(axis=0) for each in states], dtype=np.float32)
        return normalised(means.reshape(-1, self.model.dimensions))


@dataclass(frozen=True, slots=True)
class HubScorer:
    """A cross-encoder in memory."""

    label: str
    _fastembed: Any

    def score(self, question: str, passages: Sequence[str]) -> list[float]:
        """One logit per passage."""
        texts = [encoder_text(passage) for passage in passages]
        # A batch is padded to its longest text: similar lengths go together.
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        scores = self._fastembed.rerank(encoder_text(question), [texts[at] for at in order], batch_size=_BATCH_PAIRS)
        found = dict(zip(order, map(float, scores), strict=True))
        return [found[at] for at in range(len(texts))]


def hub_model(name: str, provider: Provider = AUTO) -> EmbeddingModel:
    """The vector space of the fastembed model called `name`; its owner (`intfloat/`) may be left out.

    The prefix is part of the version, unless it is the one that kb used before it knew families.

    Raises: ModelMissing when fastembed does not know it, or is not installed.
    """
    for has_tokens in (False, True):
        known = _known(_encoder_class(has_tokens=has_tokens), name)
        if known is not None:
            origin = known["sources"]["hf"] or known["sources"]["url"]
            form = _form(known["model"], provider)
            before = ("query: ", "passage: ") if "e5" in known["model"].lower() else ("", "")
            label = "" if (form.query_prefix, form.passage_prefix) == before else f"/{form.label}"
            return EmbeddingModel(known["model"], f"{HUB}:{origin}{label}", known["dim"], None, has_tokens)
    raise ModelMissing(
        f"no model is called {name}",
        "`kb models list` shows those that can be installed; any model name of fastembed works too",
    )


def open_hub_embedder(model_dir: Path, name: str, threads: int, provider: Provider = AUTO) -> HubEmbedder:
    """The model called `name` from the hub cache, on `threads` cores. Raises: ModelMissing when it is not there."""
    model = hub_model(name, provider)
    library = _encoder_class(has_tokens=model.has_tokens)
    try:
        loaded = library(model.name, cache_dir=str(model_dir / HUB_DIRECTORY), threads=threads, local_files_only=True)
    except (ValueError, OSError) as error:
        raise ModelMissing(
            f"the model {name} is not installed", f"run `kb models install {name}` where a model hub can be reached"
        ) from error
    made = HubTokenEmbedder if model.has_tokens else HubEmbedder
    return made(model, loaded, _form(model.name, provider))


def open_hub_scorer(model_dir: Path, name: str, threads: int | None) -> HubScorer:
    """The cross-encoder called `name` from the hub cache. Raises: ModelMissing, ModelCorrupt."""
    from onnxruntime.capi import onnxruntime_pybind11_state as failures

    library = _scorer_class()
    known = _known(library, name)
    if known is None:
        names = ", ".join(sorted(str(each["model"]) for each in library.list_supported_models()))
        raise ModelMissing(f"fastembed knows no cross-encoder called {name}", f"set rerank.model to one of {names}")
    full = known["model"]
    try:
        loaded = library(full, cache_dir=str(model_dir / HUB_DIRECTORY), threads=threads, local_files_only=True)
    except (failures.Fail, failures.InvalidProtobuf, failures.InvalidGraph) as error:
        raise ModelCorrupt(f"{full} does not load: {error}", f"kb models install {full}") from error
    except (ValueError, OSError) as error:
        raise ModelMissing(
            f"the cross-encoder {full} is not installed", f"run `kb models install {full}` where a hub can be reached"
        ) from error
    return HubScorer(f"{HUB}:{full}", loaded)


def fetch_hub_model(model_dir: Path, name: str) -> str:
    """Fetches the encoder or cross-encoder called `name` into the hub cache; returns its full name.

    Raises: ModelMissing where fastembed knows none; ModelError where it cannot be fetched.
    """
    hub = model_dir / HUB_DIRECTORY
    with fetching(hub):
        library, otherwise = _scorer_class(), "rerank.provider = none does without"
        known = _known(library, name)
        if known is not None:
            full = str(known["model"])
        else:
            model = hub_model(name)
            full, otherwise = model.name, "`kb models list` shows those that need none"
            library = _encoder_class(has_tokens=model.has_tokens)
        try:
            library(full, cache_dir=str(hub), lazy_load=True)
        except (ValueError, OSError) as error:
            raise ModelError(
                f"{full} could not be fetched: {error}", f"a model hub must be reachable for it; {otherwise}"
            ) from error
    return full


def _known(library: Any, name: str) -> dict[str, Any] | None:
    """The entry of fastembed's catalogue for the model called `name`, with or without its owner."""
    for known in library.list_supported_models():
        full = str(known["model"]).lower()
        if name.lower() in (full, full.rpartition("/")[2]):
            entry: dict[str, Any] = known
            return entry
    return None


def _form(name: str, provider: Provider) -> TextForm:
    """How the model reads texts; fastembed pools as its catalogue says."""
    return provider.form(name)._replace(pooling="")


def _encoder_class(*, has_tokens: bool) -> Any:
    """fastembed's class of encoders, or of late-interaction encoders."""
    library = _load_fastembed()
    return library.LateInteractionTextEmbedding if has_tokens else library.TextEmbedding


def _scorer_class() -> Any:
    """fastembed's class of cross-encoders."""
    _load_fastembed()
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    return TextCrossEncoder


def _load_fastembed() -> Any:
    """Imports the library with its log off: errors report failures. Raises: ModelMissing without the library."""
    require("models that are not in `kb models list`", lacking_packages(("fastembed",), "hub"))
    with unreported():
        import fastembed
        import loguru

    loguru.logger.disable("fastembed")
    return fastembed


def _content_offsets(encoding: Any) -> list[tuple[int, int]]:
    """The [start, end) in the text of each token but special ones, over all windows."""
    return [
        offsets
        for window in (encoding, *encoding.overflowing)
        for offsets, special in zip(window.offsets, window.special_tokens_mask, strict=True)
        if not special
    ]
