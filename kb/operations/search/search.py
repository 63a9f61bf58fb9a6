"""Answers questions with passages: one, or a stream of them over one open knowledge base."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from kb.config import Config
from kb.domain.search import FusionRule, QueryVectors, SearchQuery, SearchResult
from kb.errors import ModelMissing
from kb.operations.opening.reader import Reader, reading
from kb.retrieve.ranking_version import hybrid_ranking, lexical_ranking
from kb.retrieve.search import hybrid_params, lexical_params, search_hybrid, search_lexical
from kb.retrieve.terms import is_raw, read_query

if TYPE_CHECKING:
    from kb.domain.reranking import Reranker
    from kb.operations.search.query_vectors import VectorSource

Searcher = Callable[[SearchQuery], SearchResult]


@contextmanager
def open_searcher(config: Config, *, many: bool = False) -> Iterator[Searcher]:
    """A function that answers one question after another, in the mode each asks for; `many` prepares for a lot.

    A hybrid question where there are no vectors is answered by its words, and the result's note says so.
    Raises: NotIndexed and its kin; the function itself QuerySyntaxError, and ModelError for a vector question.
    """
    with reading(config.sqlite) as reader:
        yield Answering(reader, config, many).answer


def bind_question(
    reader: Reader, config: Config, query: SearchQuery
) -> tuple[str, tuple[str, ...], Mapping[str, object]]:
    """The statement that answers a question (a file of `sql/`), the question's terms, and what it is bound to.

    Raises: UsageError for a filter that cannot be; ModelError for a vector question.
    """
    answering = Answering(reader, config, many=False)
    source = answering.vector_source(query)
    read = read_query(reader.db, query.text)
    if source is None:
        return "retrieve/search_lexical.sql", read.terms, lexical_params(reader.db, query, read)
    rule = fusion_rule(config)
    vectors = encode_question(source, query, rule)
    return "retrieve/search_hybrid.sql", read.terms, hybrid_params(reader.db, query, read, vectors, rule)


def encode_question(source: VectorSource, query: SearchQuery, rule: FusionRule) -> QueryVectors:
    """The vectors of a question, with as many neighbours as the rule looks at."""
    return source.encode(query, depth=max(rule.depth, 2 * query.k))


class Answering:
    """An open knowledge base and, from the first question that needs them, the encoders of its vectors."""

    def __init__(self, reader: Reader, config: Config, many: bool) -> None:
        self._reader = reader
        self._many = many
        self._config = config
        self._vectors: VectorSource | None = None
        self._missing: ModelMissing | None = None

    @cached_property
    def _reranker(self) -> Reranker:
        from kb.retrieve.reader import SentenceReader  # a search by words alone does without

        return SentenceReader(self._reader.db)

    def answer(self, query: SearchQuery) -> SearchResult:
        """The hits of one question."""
        source = self.vector_source(query)
        if source is not None:
            return self.answer_near(query, source, encode_question(source, query, fusion_rule(self._config)))
        result = search_lexical(
            self._reader.db,
            query._replace(mode="lexical"),
            snippet_chars=self._config.search.snippet_chars,
            index_version=self._reader.index_version,
        )
        if self._missing is not None and not _by_words(query):
            return result._replace(note=f"by words only: {self._missing.message} ({self._missing.hint})")
        return result

    def answer_near(self, query: SearchQuery, source: VectorSource, vectors: QueryVectors) -> SearchResult:
        """The hits of a question whose vectors are known."""
        result = search_hybrid(
            self._reader.db,
            query,
            vectors,
            fusion_rule(self._config),
            self._reranker if source.reads else None,
            snippet_chars=self._config.search.snippet_chars,
            index_version=self._reader.index_version,
            embedding_model=source.model,
        )
        notes = [note for note in (source.lacking(),) if note is not None]
        if source.encoded_part(query.text) != query.text:
            notes.append("a long question: only its beginning is compared by meaning")
        return result._replace(note="; ".join(notes)) if notes else result

    def ranking_version(self, query: SearchQuery) -> str:
        """What would rank the hits of a question. Raises: ModelMissing as `vector_source`."""
        source = self.vector_source(query)
        if source is None:
            return lexical_ranking(self._reader.db)
        reranker = self._reranker if source.reads else None
        return hybrid_ranking(self._reader.db, query.mode, fusion_rule(self._config), reranker)

    def vector_source(self, query: SearchQuery) -> VectorSource | None:
        """The encoders; None where the question is answered by words alone, the reason kept where that is a lack.

        Raises: ModelMissing for a vector question that cannot be answered.
        """
        if _by_words(query):
            return None
        if self._config.models_embedding.provider == "none":
            if query.mode == "vector":
                raise ModelMissing(
                    "this knowledge base is searched by words alone (models.embedding.provider = none)",
                    "ask with --mode lexical, or set models.embedding.provider to auto and run: kb index --embeddings",
                )
            return None
        if self._vectors is None and self._missing is None:
            from kb.operations.search.query_vectors import VectorSource

            try:
                self._vectors = VectorSource(self._reader.db, self._config, many=self._many)
            except ModelMissing as error:
                self._missing = error
        if self._missing is not None and query.mode == "vector":
            raise self._missing
        return self._vectors


def _by_words(query: SearchQuery) -> bool:
    """Whether a question asks for words alone, as a raw FTS5 expression does."""
    return query.mode == "lexical" or not query.text.strip() or (query.mode == "hybrid" and is_raw(query.text))


def fusion_rule(config: Config) -> FusionRule:
    """The fusion rule of a configuration."""
    search = config.search
    return FusionRule(
        fusion="rrf" if search.hybrid_fusion == "rrf" else "linear",
        lexical_weight=search.lexical_weight,
        cross_lexical_weight=search.cross_lexical_weight,
        secondary_weight=search.secondary_weight,
        near_slot=search.near_slot,
        far_slot=search.far_slot,
        near_margin=search.near_margin,
        rrf_k=search.rrf_k,
        rrf_lexical_weight=search.rrf_lexical_weight,
        depth=search.candidate_depth,
    )
