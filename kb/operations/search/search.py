"""Finds passages for a question: by words and meaning, as far as the knowledge base has vectors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kb.config import Config
from kb.config.reading import synonyms
from kb.domain.filters import SearchFilters
from kb.domain.search import FusionRule, QueryVectors, SearchQuery, SearchResult, Term, Widening
from kb.domain.text import stored_text
from kb.errors import ModelError, ModelMissing, ModelNotPulled, ModelUnreachable, OtherModel
from kb.language.dates import may_name_days
from kb.operations.opening.base import Base, ConnectedBase
from kb.retrieve.filters import documents_asked_for, passing
from kb.retrieve.judged import COMPARED, RULE, is_close, judged_first
from kb.retrieve.look_up import SHOWN, held_first, look_up, wanted_term
from kb.retrieve.operators import with_operators
from kb.retrieve.search import (
    hybrid_params,
    hybrid_ranking,
    lexical_params,
    lexical_ranking,
    search_hybrid,
    search_lexical,
)
from kb.retrieve.terms import QueryTerms, is_raw, read_query
from kb.store import queries

if TYPE_CHECKING:
    from kb.operations.opening.vectors import VectorSource


def search(base: Base, query: SearchQuery) -> SearchResult:
    """The hits of one question, from one snapshot.

    A hybrid question is searched by words alone if there are no vectors or if the model's server does not answer; a
    note of the result says so. Raises: NotIndexed and other StoreErrors; QuerySyntaxError; ModelError for a vector
    question that cannot be answered.
    """
    if query.sort == "date":
        depth = max(query.k, base.config.search.candidate_depth)
        with base.snapshot() as base:
            return newest_first(base, search(base, query._replace(sort="score", k=depth, judged=False)), query)
    with base.snapshot() as base:
        asked = resolved(base, query)
        source = _source(base, asked)
        read = read_question(base, asked)
        term = wanted_term(asked, read)
        widened = asked._replace(k=max(asked.k, COMPARED if asked.judged else 1))
        if term is not None:
            widened = widened._replace(k=max(asked.k, SHOWN, base.config.search.candidate_depth))
        result = _with_code(base, widened, _among_notes(base, widened, read, source))
        result = held_first(result, asked, read.held, term)
        if asked is not query:
            result = _of_question(base, query, asked, result)
        return _with_gaps(base, _without_words(result))


def newest_first(base: ConnectedBase, result: SearchResult, query: SearchQuery) -> SearchResult:
    """The hits with words of the question (all hits if none has any), those of the newest documents first."""
    matching = [hit for hit in result.hits if hit.retrieval.lexical_score or hit.score_kind == "code"] or result.hits
    ids = json.dumps(sorted({hit.doc_id for hit in matching}))
    days = {row.doc_id: row.day for row in queries.select_own_dates(base.db, doc_ids_json=ids)}
    ordered = sorted(matching, key=lambda hit: days.get(hit.doc_id, ""), reverse=True)[: query.k]
    hits = tuple(hit._replace(rank=rank) for rank, hit in enumerate(ordered, 1))
    return result._replace(query=result.query._replace(k=query.k, sort="date"), hits=hits)


def resolved(base: ConnectedBase, query: SearchQuery) -> SearchQuery:
    """The question with its operators moved into the filters, and the filters applied; unchanged without any.

    Raises: UsageError for an invalid filter.
    """
    asked = with_operators(query)
    filters = base.visible(asked.filters)
    if filters == SearchFilters():
        return asked
    among = passing(base.db, filters, every=asked is not query and not asked.text.strip())
    return asked._replace(filters=filters._replace(passing=among))


def _of_question(base: ConnectedBase, query: SearchQuery, asked: SearchQuery, result: SearchResult) -> SearchResult:
    """The result, with the question as typed and notes on words left out or, without hits, on why."""
    result = result._replace(query=query._replace(mode=result.query.mode))
    if result.hits and not asked.filters.lacks:
        return result
    from kb.retrieve.notes import filter_notes  # most questions find something

    return _also_noted(result, *filter_notes(base.db, query.text, asked.filters, found=bool(result.hits)))


def _with_gaps(base: ConnectedBase, result: SearchResult) -> SearchResult:
    """The result, with a note if files are not read yet, or if nothing is indexed."""
    state, asked = base.index.state, result.query.text
    is_empty = not result.hits and state.pipelines_json == "[]"
    if not state.waits and not is_empty:
        return result
    from kb.operations.opening.unread import not_read_yet  # most indexes are whole
    from kb.retrieve.notes import note

    unread = not_read_yet(base, asked)
    if is_empty:  # what else is lacking follows from it
        return result._replace(note=unread or note(asked, "nothing indexed"))
    return _also_noted(result, *([unread] if unread else []))


def _without_words(result: SearchResult) -> SearchResult:
    """The result, with a note if no passage has a word of the question."""
    if not result.hits or result.query.mode != "hybrid" or any(hit.retrieval.lexical_score for hit in result.hits):
        return result
    if not result.candidates or any(each.lexical_score for each in result.candidates):
        return result
    from kb.retrieve.notes import note  # most questions have words that are found

    return _also_noted(result, note(result.query.text, "by meaning only"))


def _also_noted(result: SearchResult, *notes: str) -> SearchResult:
    """The result with more notes after the existing ones."""
    return result._replace(note="; ".join(filter(None, (result.note, *notes))) or None)


def _among_notes(
    base: ConnectedBase, query: SearchQuery, read: QueryTerms, source: VectorSource | ModelError | None
) -> SearchResult:
    """The hits of a question among everything that is not source code."""
    if source is None or isinstance(source, ModelError):
        return _by_words(base, query, read, source)
    try:
        return _near(base, query, read, source)
    except ModelUnreachable as error:
        if query.mode == "vector":
            raise
        return _by_words(base, query, read, error)


def _with_code(base: ConnectedBase, query: SearchQuery, result: SearchResult) -> SearchResult:
    """The result with hits in source code merged in, if there is source code and the question may mean it."""
    of_notes = query.filters.media is not None and not query.filters.media.startswith("code")
    is_empty = not query.text.strip() and passing(base.db, query.filters).sought_code_json is None
    if query.mode == "vector" or is_raw(query.text) or of_notes or is_empty:
        return result
    if not base.index.state.code_chunks:
        return result
    from kb.retrieve.code_search import with_code  # a knowledge base of notes alone does without

    query = query._replace(k=max(query.k, len(result.hits)))
    return with_code(base.index, query, result, snippet_chars=base.config.search.snippet_chars)


def read_question(base: ConnectedBase, query: SearchQuery) -> QueryTerms:
    """The terms of a question and, if it is looked up, the passages that contain all of it.

    Raises: ConfigError for an invalid lexicon; UsageError for an invalid filter.
    """
    read = _read(base, query)
    begun = [Term(stored_text(each.text), prefix=True) for each in query.filters.holds if each.kind == "prefix"]
    if begun:
        match_expr = " OR ".join(filter(None, (read.match_expr, *(term.to_match() for term in begun))))
        read = read._replace(match_expr=match_expr, searched=(*read.searched, *begun))
    return look_up(base.index, query, read)


def _read(base: ConnectedBase, query: SearchQuery) -> QueryTerms:
    search = base.config.search
    widening = Widening(search.correct_typos, search.both_scripts, synonyms(base.config))
    if not search.favour_days or query.filters.dated or not may_name_days(query.text) or is_raw(query.text):
        return read_query(base.index, query.text, widening)
    from datetime import date  # most questions speak of no days

    found = documents_asked_for(base.db, query.text, date.today())
    if found is None or not found.doc_ids:
        return read_query(base.index, query.text, widening)._replace(days=found and found.days)
    read = read_query(base.index, found.rest, widening)
    return read._replace(corrected=read.corrected or found.rest, days=found.days, favoured=found.doc_ids)


def _near(base: ConnectedBase, query: SearchQuery, read: QueryTerms, source: VectorSource) -> SearchResult:
    """The hits of a question by words and meaning."""
    rule = fusion_rule(base.config)
    result = search_hybrid(
        base.index,
        query,
        read,
        encode_question(source, query, read, rule),
        rule,
        snippet_chars=base.config.search.snippet_chars,
        index_version=base.index_version,
        embedding_model=source.model,
        pairs=base.pair_order,
        borrowed=source.borrowed,
    )
    if _reads(base.config, query):
        result = _judged(base, result, _encoded(query, read).text, is_looked_up=bool(read.held))
    notes = [note for note in (source.lacking(query.text),) if note is not None]
    if source.encoded_part(query.text) != query.text:
        from kb.retrieve.notes import note  # most questions do without

        notes.append(note(query.text, "compared in part"))
    return _noted(result, notes)


def _reads(config: Config, query: SearchQuery) -> bool:
    """Whether the judge orders the first hits of a question."""
    return query.judged and query.mode == "hybrid" and config.rerank.provider == "judge"


def _judged(base: ConnectedBase, result: SearchResult, question: str, *, is_looked_up: bool) -> SearchResult:
    """The result, with its first hits ordered by the judge, if it is installed, where they are close."""
    judge_hash = base.models.judge_hash
    if judge_hash is None:
        return result
    result = result._replace(ranking_version=_judged_label(result.ranking_version, judge_hash))
    judge = base.judge if is_close(result) and not is_looked_up else None
    return result if judge is None else judged_first(result, question, judge)


def _judged_label(ranking: str, judge_hash: int) -> str:
    return f"{ranking}/{RULE}-{judge_hash:08x}"


def vector_source(base: ConnectedBase, query: SearchQuery) -> VectorSource | None:
    """The encoder for a question; None for a search by words. Raises: ModelMissing for a vector question."""
    source = _source(base, query)
    return None if isinstance(source, ModelError) else source


def encode_question(source: VectorSource, query: SearchQuery, read: QueryTerms, rule: FusionRule) -> QueryVectors:
    """The vectors of a question, with as many neighbours as the fusion rule uses."""
    return source.end(source.begin(_encoded(query, read)), max(rule.candidate_depth, 2 * query.k))


def _encoded(query: SearchQuery, read: QueryTerms) -> SearchQuery:
    """The question to encode; of corrections only those of the keyboard layout are applied.

    Encoders know words that the documents do not have, so a wrong correction would cost more than a misspelling.
    """
    is_keyboard = bool(read.substitutions) and all(each.reason == "keyboard" for each in read.substitutions)
    return query._replace(text=read.corrected or query.text) if is_keyboard else query


def ranking_version(base: ConnectedBase, query: SearchQuery) -> str:
    """The label of the ranking of a question. Raises: ModelMissing as `vector_source`."""
    source = vector_source(base, query)
    if source is None:
        return lexical_ranking(base.index)
    pairs = base.pair_order if query.mode == "hybrid" else None
    ranking = hybrid_ranking(base.index, query.mode, fusion_rule(base.config), pairs)
    judge_hash = base.models.judge_hash if _reads(base.config, query) else None
    return ranking if judge_hash is None else _judged_label(ranking, judge_hash)


def bind_question(base: ConnectedBase, query: SearchQuery) -> tuple[str, tuple[str, ...], Mapping[str, object]]:
    """The file of the statement that answers a question, the question's terms, and the parameters.

    Raises: UsageError for an invalid filter; ModelError for a vector question.
    """
    query = resolved(base, query)
    source = vector_source(base, query)
    read = read_question(base, query)
    if source is None:
        return "retrieve/search_lexical.sql", read.terms, {**lexical_params(base.db, query, read), "both_expr": None}
    rule = fusion_rule(base.config)
    vectors = encode_question(source, query, read, rule)
    return "retrieve/search_hybrid.sql", read.terms, hybrid_params(base.index, query, read, vectors, rule)


def _by_words(base: ConnectedBase, query: SearchQuery, read: QueryTerms, lacking: ModelError | None) -> SearchResult:
    """The hits of a question by words; a note says what is missing for a search by meaning."""
    result = search_lexical(
        base.index,
        query._replace(mode="lexical"),
        read,
        snippet_chars=base.config.search.snippet_chars,
        index_version=base.index_version,
    )
    if lacking is None:
        return _noted(result, [])
    from kb.retrieve.notes import by_words_only  # a search of what is whole does without

    return _noted(result, [by_words_only(query.text, lacking)])


def _noted(result: SearchResult, notes: Sequence[str]) -> SearchResult:
    """The result with these notes; notes on days and words come first."""
    said: list[str] = []
    if result.days is not None:
        from kb.retrieve.notes import days_note  # most questions speak of no days

        said = [days_note(result.query.text, result.days)]
    if result.substitutions:
        from kb.retrieve.notes import substitution_notes  # a question of known words does without

        said += substitution_notes(result.query.text, result.read_as, result.substitutions)
    said += notes
    return result._replace(note="; ".join(said)) if said else result


def _source(base: ConnectedBase, query: SearchQuery) -> VectorSource | ModelError | None:
    """The encoder for a question; None for a search by words, or the error that prevents a search by meaning.

    Raises: ModelMissing for a vector question that cannot be answered.
    """
    if _asks_for_words(query):
        return None
    if base.config.models_embedding.provider == "none":
        if query.mode == "vector":
            raise ModelMissing(
                "this knowledge base is searched by words alone (models.embedding.provider = none)",
                "search in mode lexical, or set models.embedding.provider to auto and run: kb index --embeddings",
            )
        return None
    try:
        source = base.vectors
    except (ModelMissing, ModelUnreachable, ModelNotPulled, OtherModel) as error:
        if query.mode == "vector":
            raise
        return error
    first = source.first_passages() if query.mode == "hybrid" else None
    if first is None:
        return source
    from kb.retrieve.notes import few_embedded  # a question of a whole index does without

    return few_embedded(*first)


def _asks_for_words(query: SearchQuery) -> bool:
    """Whether a question is searched by words only, as a raw FTS5 expression is."""
    return query.mode == "lexical" or not query.text.strip() or (query.mode == "hybrid" and is_raw(query.text))


def fusion_rule(config: Config) -> FusionRule:
    """The fusion rule of a configuration."""
    return FusionRule(*(getattr(config.search, name) for name in FusionRule._fields))
