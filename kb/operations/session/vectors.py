"""A question's vectors under the models the index was embedded with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from operator import mul
from typing import TYPE_CHECKING

from kb.config import Config
from kb.domain.embeddings import EmbeddingModel
from kb.domain.search import QueryVectors, SearchFilters, SearchQuery
from kb.domain.text import start_of
from kb.embed.codec import unpack_vector
from kb.errors import ModelError, ModelMissing
from kb.language.detect import query_language
from kb.operations.embedding.plan import configured_models, embedding_provider
from kb.operations.session.loaded_models import LoadedModels, SharedEncoder
from kb.records import NamedTuple
from kb.store.connection import Connection
from kb.store.rows import embed_queries as queries
from kb.store.rows.embed_queries import EmbeddingSlot
from kb.store.rows.retrieve_queries import select_chunk_total
from kb.store.rows.sentence_queries import select_sentence_version
from kb.store.vectors.vector_tables import ANN_PAYS_ABOVE_CHUNKS, slots

if TYPE_CHECKING:
    from kb.store.vectors.lance_table import LanceTable
    from kb.store.vectors.loaded_mirror import LoadedMirror
    from kb.store.vectors.vector_tables import Slot

# How much of a question is encoded: an encoder takes up to a millisecond a token, and its attention grows with the
# square of their number. The longest of 5,800 questions of the development sets has 302 bytes of UTF-8.
ENCODED_WORDS = 64
ENCODED_BYTES = 384

_SENTENCES_KEPT = 512

# Mirrors are loaded into memory by so many questions after the index has changed: that takes as long as some 25 scans.
_LOAD_MIRRORS_AT = 8


class Encoding(NamedTuple):
    """A question that is being encoded: its text, and what waits for its primary vector."""

    query: SearchQuery
    text: str
    primary: Callable[[], bytes]


class VectorSource:
    """The encoders of one open knowledge base, for as long as it and the installed models do not change."""

    def __init__(self, db: Connection, config: Config, models: LoadedModels, *, many: bool) -> None:
        """Takes the primary model's encoder; for `many` questions also a large index's ANN index.

        A process that answers one question scans the vectors exactly: loading Lance would take longer.

        Raises: ModelMissing where there are no vectors or no model; ModelError where the index holds another model's.
        """
        held = slots(db)
        if "primary" not in held:
            raise ModelMissing("this knowledge base has no vectors yet", "kb index --embeddings")
        primary = held["primary"]
        self.model = primary.model_id
        self.dimensions = primary.dimensions
        self._models = models
        self._primary = _encoder(config, models, primary)
        self.provider = self._primary.provider
        self._config = config
        self._secondary_slot = held.get("secondary")
        self._secondary: SharedEncoder | None = None
        self._many = many
        self._db = db
        means = queries.select_language_means(db)
        self._langs = [row.lang for row in means if row.slot == "primary"]
        self._secondary_langs = [row.lang for row in means if row.slot == "secondary"]
        self.reads = config.rerank.provider != "none" and _has_sentences(db, self._secondary_slot)
        self._incomplete = queries.select_incomplete_slots(db)
        self._sentences: dict[str, Sequence[float]] = {}
        self._ann = _ann_table(db, config, models, primary) if many else None
        self._mirrors = many and self._ann is None and _is_small(db)
        self._asked = 0
        self._state: str | None = None

    def models_are_installed(self) -> bool:
        """Whether the models that are in use are installed as they were when they were loaded."""
        return all(encoder.is_installed() for encoder in (self._primary, self._secondary) if encoder is not None)

    def first_passages(self) -> tuple[int, int] | None:
        """How many of how many passages have a vector, while that is less than half of them.

        A question compared with those alone would find the best of what happened to be embedded first.
        """
        row = next((row for row in self._incomplete if row.slot == "primary"), None)
        return None if row is None or 2 * row.committed >= row.chunks else (row.committed, row.chunks)

    def lacking(self, question: str) -> str | None:
        """What to tell where embedding has not ended, or was interrupted; None where every passage has its vectors."""
        from kb.retrieve import notes  # a question of a whole index does without

        if self._incomplete and (row := self._incomplete[0]).committed < row.chunks:
            return notes.embedding_not_ended(question, row.committed, row.chunks)
        second = configured_models(self._config)[1:]
        if second and self._secondary_slot is None:
            return notes.second_not_begun(question, second[0])
        return None

    def begin(self, query: SearchQuery) -> Encoding:
        """Begins to encode a question by the primary model, on another thread."""
        text = self.encoded_part(query.text)
        return Encoding(query, text, self._models.beside(lambda: self._primary.encode(text).vector))

    def end(self, begun: Encoding, *, depth: int, scanned: int) -> QueryVectors:
        """The vectors of one question, and its neighbours in each language where there is more than the tables to ask.

        From an ANN index `depth` and some more; from a mirror in memory the `scanned` nearest, as the statement's own
        scan would find them. A question with filters is left to that scan, which looks at nothing else than what they
        let through.
        """
        secondary = self._encode_secondary(begun.text)
        vector = begun.primary()
        if begun.query.filters != SearchFilters():
            return QueryVectors(vector, secondary)
        if self._ann is not None:
            return QueryVectors(vector, secondary, ann_neighbours(self._ann, vector, depth, self._langs))
        return QueryVectors(vector, secondary, self._in_memory(begun.text, vector, secondary, scanned))

    def sentence_vector(self, text: str) -> bytes | None:
        """A question under the secondary model, as sentences are compared with it; None without that model."""
        return self._encode_secondary(self.encoded_part(text)) if self.reads else None

    def encoded_part(self, question: str) -> str:
        """What of a question is encoded: all of it, unless it is very long."""
        return start_of(question, max_words=ENCODED_WORDS, max_bytes=ENCODED_BYTES)

    def encode_text(self, text: str) -> bytes:
        """A sentence under the primary model, as a question: float32 little-endian, L2 = 1."""
        return self._primary.encode(text).vector

    @property
    def sentence_model(self) -> str:
        """The model that `similarities` compares by."""
        return self.model if self._secondary_slot is None else self._secondary_slot.model_id

    def similarities(self, question: str, sentences: Sequence[str]) -> list[float]:
        """The cosine of a question to each of the sentences, whatever language they are in.

        By the secondary model, where there is one: it tells sentences apart across languages, in an eighth of the time.
        """
        encoder = self._open_secondary() or self._primary
        asked = unpack_vector(encoder.encode(self.encoded_part(question)).vector)
        return [sum(map(mul, asked, self._compared(sentence, encoder))) for sentence in sentences]

    def _compared(self, sentence: str, encoder: SharedEncoder) -> Sequence[float]:
        """A sentence's vector; the last ones are kept, as several sentences of an answer are compared with them."""
        if sentence not in self._sentences:
            while len(self._sentences) >= _SENTENCES_KEPT:
                del self._sentences[next(iter(self._sentences))]
            self._sentences[sentence] = unpack_vector(encoder.encode(sentence).vector)
        return self._sentences[sentence]

    def _in_memory(
        self, text: str, vector: bytes, secondary: bytes | None, depth: int
    ) -> tuple[tuple[str, float], ...] | None:
        """What the statement's scan would find, from mirrors in memory; None until so many were asked that it pays."""
        self._asked += 1
        if not self._mirrors or self._asked < _LOAD_MIRRORS_AT:
            return None
        found = [hit for lang in self._langs for hit in self._mirror("primary").nearest(vector, depth, lang)]
        if secondary is not None:
            others = set(self._secondary_langs) - own_languages(text)
            mirror = self._mirror("secondary")
            found += [hit for lang in sorted(others) for hit in mirror.nearest(secondary, depth, lang)]
        return tuple(found)

    def _mirror(self, slot: Slot) -> LoadedMirror:
        """The vectors of a slot as they are now, shared by the session's threads."""
        from kb.store.rows.mirror_queries import select_mirror_state  # a process that answers one question does without
        from kb.store.vectors.loaded_mirror import load_mirror

        if self._state is None:
            found = select_mirror_state(self._db)
            self._state = None if found is None else found.state
        dimensions = slots(self._db)[slot].dimensions
        return self._models.kept(f"mirror {slot}", self._state, lambda: load_mirror(self._db, slot, dimensions))

    def _encode_secondary(self, text: str) -> bytes | None:
        """The question under the secondary model, where a passage may be in another language than it does.

        It judges those, and what is read; without either the question does not pay for loading it.
        """
        if not (self.reads or set(self._langs) - own_languages(text)):
            return None
        encoder = self._open_secondary()
        return None if encoder is None else encoder.encode(text).vector

    def _open_secondary(self) -> SharedEncoder | None:
        slot = self._secondary_slot
        if self._secondary is None and slot is not None:
            if self._many and find_spec("numpy") is not None:
                import_module("numpy")  # which the encoder multiplies with where it is: a third of the time a question
            self._secondary = _encoder(self._config, self._models, slot)
        return self._secondary


def own_languages(text: str) -> set[str]:
    """The languages that count as a question's own; text in no language that can be told is in Latin letters."""
    asked = query_language(text)
    return {asked, "und"} if asked == "en" else {asked}


def _is_small(db: Connection) -> bool:
    total = select_chunk_total(db)
    return total is not None and total.chunks < ANN_PAYS_ABOVE_CHUNKS


def _has_sentences(db: Connection, slot: EmbeddingSlot | None) -> bool:
    """Whether the index holds sentence vectors of the model in the secondary slot."""
    held = select_sentence_version(db)
    return slot is not None and held is not None and held.version.startswith(f"{slot.model_id}@{slot.model_version}/")


def ann_neighbours(table: LanceTable, vector: bytes, depth: int, langs: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """Chunk ids and estimated distances of the nearest in each of the index's languages.

    Their number makes up for the estimate: the `depth` nearest are among twice as many, and the search statement ranks
    them by exact distances.
    """
    values = unpack_vector(vector)
    wanted: Sequence[str | None] = langs if len(langs) > 1 else [None]  # a filter takes as long as the search
    return tuple((hit.chunk_id, hit.distance) for lang in wanted for hit in table.nearest(values, 2 * depth, lang))


def _ann_table(db: Connection, config: Config, models: LoadedModels, slot: EmbeddingSlot) -> LanceTable | None:
    """The Lance table whose ANN index supplies neighbours; None where the exact scan is fast, or no index stands."""
    total = select_chunk_total(db)
    if total is None or total.chunks < ANN_PAYS_ABOVE_CHUNKS:
        return None
    from kb.store.vectors.lance_table import LanceTable, changed_at

    model = EmbeddingModel(slot.model_id, slot.model_version, slot.dimensions, None)

    def load() -> LanceTable | None:
        table = LanceTable(config.vector_dir, model)
        return table if table.has_ann_index() else None

    mark = (model, changed_at(config.vector_dir, model))
    return models.kept(f"ANN index of {model.name}", mark, load)


def _encoder(config: Config, models: LoadedModels, slot: EmbeddingSlot) -> SharedEncoder:
    provider = embedding_provider(config).of_version(slot.model_version)
    encoder = models.query_encoder(slot.model_id, provider)
    there = encoder.model
    if (there.version, there.dimensions) != (slot.model_version, slot.dimensions):
        raise ModelError(
            f"the index was embedded with {slot.model_id} {slot.model_version} ({slot.dimensions} d), "
            f"and the model is now {there.version} ({there.dimensions} d)",
            "kb index --embeddings",
        )
    return encoder
