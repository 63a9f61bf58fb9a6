"""A question as the model encodes it that the index was embedded with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import mul
from typing import TYPE_CHECKING

from kb.config import Config
from kb.domain.embeddings import EmbeddingModel
from kb.domain.filters import SearchFilters
from kb.domain.search import QueryVectors, SearchQuery
from kb.domain.text import start_of
from kb.embed.codec import unpack_vector
from kb.errors import ModelError, ModelMissing
from kb.operations.embedding.plan import embedding_provider
from kb.operations.session.loaded_models import LoadedModels, SharedEncoder
from kb.records import NamedTuple
from kb.store import queries
from kb.store.connection import Connection
from kb.store.mirror import ANN_PAYS_ABOVE_CHUNKS, LoadedMirror, load_mirror, mirrored

if TYPE_CHECKING:
    from kb.domain.embeddings import EncodedQuestion
    from kb.store.lance_table import LanceTable

# How much of a question is encoded: an encoder takes up to a millisecond a token, and its attention grows with the
# square of their number. The longest of 5,800 questions of the development sets has 302 bytes of UTF-8.
ENCODED_WORDS = 64
ENCODED_BYTES = 384

_SENTENCES_KEPT = 512

# The mirror is loaded into memory by so many questions after a change of the index: that takes as long as 25 scans.
_LOAD_MIRROR_AT = 8


class Encoding(NamedTuple):
    """A question that is being encoded, and what waits for it."""

    query: SearchQuery
    encoded: Callable[[], EncodedQuestion]


class VectorSource:
    """The encoder of one open knowledge base, for as long as it and the installed model do not change."""

    def __init__(self, db: Connection, config: Config, models: LoadedModels, *, many: bool) -> None:
        """Takes the model's encoder; for `many` questions also a large index's ANN index.

        A process that answers one question scans the vectors exactly: loading Lance would take longer.

        Raises: ModelMissing where there are no vectors or no model; ModelError where the index holds another model's.
        """
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
        self._incomplete = queries.select_incomplete(db)
        self._sentences: dict[str, EncodedQuestion] = {}
        self._ann = _ann_table(db, config, models, held) if many else None
        self._in_memory = many and self._ann is None and _is_small(db)
        self._asked = 0
        self._state: str | None = None

    def models_are_installed(self) -> bool:
        """Whether the model in use is installed as it was when it was loaded."""
        return self._encoder.is_installed()

    def first_passages(self) -> tuple[int, int] | None:
        """How many of how many passages have a vector, while that is less than half of them.

        A question compared with those alone would find the best of what happened to be embedded first.
        """
        row = self._incomplete
        return None if row is None or 2 * row.committed >= row.chunks else (row.committed, row.chunks)

    def lacking(self, question: str) -> str | None:
        """What to tell where embedding has not ended, or was interrupted; None where every passage has its vector."""
        if (row := self._incomplete) is not None:
            from kb.retrieve.notes import embedding_not_ended  # a question of a whole index does without

            return embedding_not_ended(question, row.committed, row.chunks)
        return None

    def begin(self, query: SearchQuery) -> Encoding:
        """Begins to encode a question, on another thread."""
        return Encoding(query, self._models.beside(partial(self._encoder.encode, self.encoded_part(query.text))))

    def end(self, begun: Encoding, depth: int) -> QueryVectors:
        """A question as it is encoded, and its `depth` nearest where there is more than the table to ask.

        A question with filters is left to the statement's scan, which looks at nothing else than what they let through.
        """
        vector, tokens = begun.encoded()
        neighbours = None
        if begun.query.filters == SearchFilters():
            if self._ann is not None:
                neighbours = ann_neighbours(self._ann, vector, depth)
            elif mirror := self._mirror():
                neighbours = tuple(mirror.nearest(vector, depth))
        return QueryVectors(vector, tokens if self._with_tokens else None, neighbours)

    def encoded_part(self, question: str) -> str:
        """What of a question is encoded: all of it, unless it is very long."""
        return start_of(question, max_words=ENCODED_WORDS, max_bytes=ENCODED_BYTES)

    def encode_text(self, text: str) -> EncodedQuestion:
        """A sentence as a question is encoded; the last ones are kept, as an answer is compared with them again."""
        found = self._sentences.pop(text, None) or self._encoder.encode(text)
        while len(self._sentences) >= _SENTENCES_KEPT:
            del self._sentences[next(iter(self._sentences))]
        self._sentences[text] = found
        return found

    def similarities(self, text: str, others: Sequence[str]) -> list[float]:
        """How near a text is to each of the others, in any language: by their tokens, else by cosine."""
        asked, *compared = (self.encode_text(self.encoded_part(each)) for each in (text, *others))
        if asked.tokens is None:
            vector = unpack_vector(asked.vector)
            return [sum(map(mul, vector, unpack_vector(each.vector))) for each in compared]
        from kb.embed.installed.late_interaction import token_scores  # a search compares no sentences

        return token_scores(asked.tokens, [each.tokens or b"" for each in compared], self.dimensions)

    def _mirror(self) -> LoadedMirror | None:
        """The vectors as they are now, shared by the session's threads; None until so many were asked that it pays."""
        self._asked += 1
        if not self._in_memory or self._asked < _LOAD_MIRROR_AT:
            return None

        if self._state is None:
            found = queries.select_mirror_state(self._db)
            self._state = None if found is None else found.state
        return self._models.kept("mirror", self._state, lambda: load_mirror(self._db, self.dimensions))


def _is_small(db: Connection) -> bool:
    total = queries.select_chunk_total(db)
    return total is not None and total.chunks < ANN_PAYS_ABOVE_CHUNKS


def ann_neighbours(table: LanceTable, vector: bytes, depth: int) -> tuple[tuple[str, float], ...]:
    """Chunk ids and estimated distances of the nearest.

    Their number makes up for the estimate: the `depth` nearest are among twice as many, and the search statement ranks
    them by exact distances.
    """
    return tuple((hit.chunk_id, hit.distance) for hit in table.nearest(unpack_vector(vector), 2 * depth))


def _ann_table(db: Connection, config: Config, models: LoadedModels, held: queries.MirroredModel) -> LanceTable | None:
    """The Lance table whose ANN index supplies neighbours; None where the exact scan is fast, or no index stands."""
    total = queries.select_chunk_total(db)
    if total is None or total.chunks < ANN_PAYS_ABOVE_CHUNKS:
        return None
    from kb.store.lance_table import LanceTable, changed_at

    model = EmbeddingModel(held.model_id, held.model_version, held.dimensions, None)

    def load() -> LanceTable | None:
        table = LanceTable(config.vector_dir, model)
        return table if table.has_ann_index() else None

    mark = (model, changed_at(config.vector_dir, model))
    return models.kept(f"ANN index of {model.name}", mark, load)


def _encoder(config: Config, models: LoadedModels, held: queries.MirroredModel) -> SharedEncoder:
    provider = embedding_provider(config).of_version(held.model_version)
    encoder = models.query_encoder(held.model_id, provider)
    there = encoder.model
    if (there.version, there.dimensions) != (held.model_version, held.dimensions):
        raise ModelError(
            f"the index was embedded with {held.model_id} {held.model_version} ({held.dimensions} d), "
            f"and the model is now {there.version} ({there.dimensions} d)",
            "kb index --embeddings",
        )
    return encoder
