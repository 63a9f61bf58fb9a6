"""Opens the models that read questions: the encoder of the index, and the cross-encoder, if one is configured."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kb.config import Config
from kb.domain.embeddings import EmbeddingModel, VectorAddress
from kb.domain.filters import SearchFilters
from kb.domain.search import PairOrder, PairScorer, QueryVectors, SearchQuery
from kb.domain.text import start_of
from kb.embed.codec import unpack_vector
from kb.embed.provider import LLAMA_CPP, PLUGIN
from kb.errors import ConfigError, ModelMissing, OtherModel, StoreError
from kb.operations.embedding.plan import embedding_provider, gguf_places
from kb.operations.opening.loaded_models import LoadedModels, SharedEncoder
from kb.retrieve.filters import passing
from kb.retrieve.index import Index
from kb.store import queries
from kb.store.mirror import (
    ANN_PAYS_ABOVE_CHUNKS,
    LoadedMirror,
    count_rows,
    has_mirror,
    load_mirror,
    load_vector_functions,
    mirrored,
)
from kb.threads import submit

if TYPE_CHECKING:
    from kb.domain.embeddings import EncodedQuestion
    from kb.store.borrowed_vectors import BorrowedVectors
    from kb.store.connection import Connection
    from kb.store.lance_table import LanceTable

# The most of a question that is encoded: an encoder takes up to a millisecond a token, and its attention grows with the
# square of their number. The longest of 5,800 questions of the development sets has 302 bytes of UTF-8.
ENCODED_WORDS = 64
ENCODED_BYTES = 384

# Neighbours that an ANN index is tried with.
_TRIED = 10

# The mirror is loaded into memory by so many questions after a change of the index: that takes as long as 25 scans.
_LOAD_MIRROR_AT = 8


class Encoding(NamedTuple):
    """A question that is being encoded on another thread; `encoded()` waits for the result."""

    query: SearchQuery
    encoded: Callable[[], EncodedQuestion]


class VectorSource:
    """The encoder of one open knowledge base; valid until the base or the installed model changes."""

    def __init__(self, index: Index, config: Config, models: LoadedModels, *, many: bool) -> None:
        """Takes the model's encoder; for `many` questions also the ANN index of a large base.

        A process that answers one question scans the vectors exactly, as loading Lance would take longer.

        Raises: ModelMissing if there are no vectors or no model; OtherModel if the index has vectors of another model.
        """
        db = index.db
        held = mirrored(db)
        if held is None:
            raise ModelMissing("this knowledge base has no vectors yet", "kb index --embeddings")
        self.model = held.model_id
        self.dimensions = held.dimensions
        self._models = models
        self._encoder = _encoder(config, models, held)
        self.provider = self._encoder.provider
        self._with_tokens = config.models_embedding.tokens
        self._db = db
        mirrored_here = has_mirror(db)
        self.borrowed = None if mirrored_here else borrowed_vectors(db, config, models)
        self._incomplete = queries.select_incomplete(db) if mirrored_here else queries.select_uncompared(db)
        is_large = index.state.chunks >= ANN_PAYS_ABOVE_CHUNKS
        self._ann = _ann_table(index, config, models, held) if many and mirrored_here else None
        self._in_memory = many and mirrored_here and self._ann is None and not is_large
        self._asked = 0
        self._state: str | None = None

    def models_are_installed(self) -> bool:
        """Whether the installed model is still the one in use."""
        return self._encoder.is_installed()

    def first_passages(self) -> tuple[int, int] | None:
        """How many passages have a vector, and how many there are, if it is less than half of them; else None.

        A question compared with so few would find the best of what happened to be embedded first.
        """
        row = self._incomplete
        return None if row is None or 2 * row.committed >= row.chunks else (row.committed, row.chunks)

    def lacking(self, question: str) -> str | None:
        """The note that embedding is not complete; None if every passage has its vector."""
        if (row := self._incomplete) is not None:
            from kb.retrieve.notes import note  # a question of a whole index does without

            return note(question, "embedding", row.committed, row.chunks)
        return None

    def begin(self, query: SearchQuery) -> Encoding:
        """Begins to encode a question on another thread."""
        return Encoding(query, submit(partial(self._encoder.encode, self.encoded_part(query.text))))

    def end(self, begun: Encoding, depth: int) -> QueryVectors:
        """The encoded question, with its `depth` nearest passages if an ANN index or the mirror in memory gives them.

        The ANN index gives none for a question with filters, and the mirror none if filters choose single passages of
        documents: the statement then scans the vectors.
        """
        vector, tokens = begun.encoded()
        neighbours = None
        among = passing(self._db, begun.query.filters)
        if self._ann is not None:
            if begun.query.filters == SearchFilters():
                try:
                    neighbours = ann_neighbours(self._ann, vector, depth)
                except StoreError:  # the mirror has all vectors: the statement scans it
                    self._ann = None
        elif among.passages_json is None and (mirror := self._mirror()):
            doc_ids = None if among.doc_ids_json is None else frozenset(json.loads(among.doc_ids_json))
            neighbours = tuple(mirror.nearest(vector, depth, doc_ids))
        return QueryVectors(vector, tokens if self._with_tokens else None, neighbours)

    def encoded_part(self, question: str) -> str:
        """The part of a question to encode: all of it, unless it is very long."""
        return start_of(question, max_words=ENCODED_WORDS, max_bytes=ENCODED_BYTES)

    def _mirror(self) -> LoadedMirror | None:
        """The vectors in memory, shared by all threads; None before enough questions have come to make it pay."""
        self._asked += 1
        if not self._in_memory or self._asked < _LOAD_MIRROR_AT:
            return None

        if self._state is None:
            found = queries.select_mirror_state(self._db)
            self._state = None if found is None else found.state
        return self._models.kept("mirror", self._state, lambda: load_mirror(self._db, self.dimensions))


def ann_neighbours(table: LanceTable, vector: bytes, depth: int) -> tuple[tuple[str, float], ...]:
    """The chunk ids of the nearest vectors with estimated distances.

    It returns twice `depth`: as distances are estimates, the `depth` nearest are among these, and the search statement
    ranks them by exact distances.
    """
    return table.nearest(unpack_vector(vector), 2 * depth)


def borrowed_vectors(db: Connection, config: Config, models: LoadedModels) -> BorrowedVectors | None:
    """The vectors of a base without a mirror, read from Lance; None if there is a mirror or no vector.

    `db` must have sqlite-vec. Raises: StoreError if Lance cannot be read.
    """
    held = mirrored(db)
    if held is None or has_mirror(db):
        return None
    from kb.store.borrowed_vectors import BorrowedVectors

    return BorrowedVectors(db, _lance_table(config, models, held))


def _lance_table(config: Config, models: LoadedModels, held: queries.MirroredModel) -> LanceTable:
    """The model's Lance table, cached until it is written."""
    from kb.store.lance_table import LanceTable, changed_at

    model = EmbeddingModel(held.model_id, held.model_version, held.dimensions, None)
    where = config.vector_dir
    mark = (model, where if isinstance(where, VectorAddress) else changed_at(where, model))
    table = models.kept(f"Lance table of {model.name}", mark, lambda: LanceTable(where, model))
    if isinstance(where, VectorAddress):
        table.refresh()
    return table


def _ann_table(index: Index, config: Config, models: LoadedModels, held: queries.MirroredModel) -> LanceTable | None:
    """The Lance table whose ANN index supplies neighbours; None where the exact scan is fast, or it has no index.

    None too for a table that cannot be read, or is not this mirror's: an older version has fewer vectors, that of
    another base has other chunks. kb doctor tells.
    """
    if index.state.chunks < ANN_PAYS_ABOVE_CHUNKS:
        return None
    with suppress(StoreError):
        table = _lance_table(config, models, held)
        if table.has_ann_index() and table.count() >= (count_rows(index.db) or 0):
            load_vector_functions(index.db)
            first = queries.select_mirror(index.db, after_rowid=0, row_limit=1)
            near = json.dumps([named for each in first for named, _ in ann_neighbours(table, each.embedding, _TRIED)])
            if queries.select_known_vectors(index.db, lance_table=table.name, chunk_ids_json=near):
                return table
    return None


def _encoder(config: Config, models: LoadedModels, held: queries.MirroredModel) -> SharedEncoder:
    provider = embedding_provider(config).of_version(held.model_version)
    encoder = models.query_encoder(held.model_id, provider)
    there = encoder.model
    if (there.version, there.dimensions) != (held.model_version, held.dimensions):
        raise OtherModel(
            f"the index was embedded with {held.model_id} {held.model_version} ({held.dimensions} d), "
            f"and the model is now {there.version} ({there.dimensions} d)",
            "kb index --embeddings",
        )
    return encoder


class SharedScorer:
    """A cross-encoder that scores for one thread at a time."""

    def __init__(self, scorer: PairScorer, models: LoadedModels) -> None:
        self.label = scorer.label
        self._scorer = scorer
        self._models = models

    def score(self, question: str, passages: Sequence[str]) -> list[float]:
        """One logit for each passage."""
        with self._models.one_at_a_time("scoring"):
            return self._scorer.score(question, passages)


def configured_pair_order(config: Config, models: LoadedModels) -> PairOrder:
    """The configured cross-encoder and how many hits it orders. Raises: ConfigError, ModelMissing, ModelCorrupt."""
    mark = (config.rerank.provider, config.rerank.model, config.models_embedding.threads)
    scorer = models.kept("cross-encoder", mark, lambda: SharedScorer(open_pair_scorer(config), models))
    return PairOrder(scorer, config.rerank.passages)


def open_pair_scorer(config: Config) -> PairScorer:
    """Loads the configured cross-encoder. Raises: ConfigError, ModelMissing, ModelCorrupt, PluginFailed."""
    _require_model(config)
    rerank, threads = config.rerank, config.models_embedding.threads or os.cpu_count() or 1
    if rerank.provider == LLAMA_CPP:
        from kb.embed.gguf_models import open_gguf_scorer

        return open_gguf_scorer(gguf_places(config, rerank.model), Path(rerank.model).name, threads)
    if rerank.provider == PLUGIN:
        from kb.embed.plugin_models import open_plugin_scorer

        return open_plugin_scorer(rerank.model)
    from kb.embed.hub_models import open_hub_scorer

    return open_hub_scorer(config.model_dir, rerank.model, threads)


def _require_model(config: Config) -> None:
    """Raises ConfigError where `rerank.model` is empty."""
    if not config.rerank.model.strip():
        raise ConfigError(
            f"rerank.provider is {config.rerank.provider}, and rerank.model names no model",
            "set rerank.model, or rerank.provider to judge",
        )
