"""Retrieves passages for a question: resolves it in its conversation, searches notes and source code, judges the hits.

A question that can mean nothing but code ─▶ code, where there is evidence.
Notes that answer ─▶ notes; else code that answers; else notes that may; else code that may.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from kb.answer.differing import differing
from kb.answer.judging import Judgement, judge, read_sentence, standing
from kb.answer.pieces import READ_PASSAGES, Excerpt, read_excerpts, term_weights
from kb.answer.proofs import lacking
from kb.answer.questions import resolve
from kb.answer.wording import say
from kb.domain.answers import EmbeddingRef, Turn
from kb.domain.code_hits import CodeFound
from kb.domain.search import Passage, RetrievalDetail, SearchQuery, SearchResult
from kb.domain.text import stored_text
from kb.language.detect import query_language
from kb.language.occurrences import occurs
from kb.language.pages import lists_pages
from kb.language.sentences import sentence_ranges
from kb.operations.answers.records import conversation
from kb.operations.ask.findings import AskRequest, Findings, code_passage
from kb.operations.opening.base import ConnectedBase
from kb.operations.search.search import search, vector_source
from kb.store import queries
from kb.store.connection import Connection

_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")

JUDGED_HITS = 10
"""How many of the first hits are judged where the candidates are not known, however many were requested."""


def search_for(request: AskRequest, text: str) -> SearchQuery:
    """The search query of a question: `text` is the resolved question."""
    return SearchQuery(text, request.mode, max(request.k, JUDGED_HITS), request.filters)


def retrieve(base: ConnectedBase, request: AskRequest, started: float) -> Findings:
    """The findings of the question as resolved in its conversation; if they have no evidence, of the question alone.

    `started` is a time of the monotonic clock.
    """
    with base.snapshot():
        history = conversation(base.db, request.session_id) if request.session_id else request.history
        text = resolve(request.question, history)
        alone = " ".join(stored_text(request.question).split())
        found = _found(base, request, history, text, started)
        if text == alone or found.state != "refused":
            return found
        by_itself = _found(base, request, history, alone, started)
        return found if by_itself.state == "refused" else by_itself


def _found(
    base: ConnectedBase,
    request: AskRequest,
    history: tuple[Turn, ...],
    text: str,
    started: float,
) -> Findings:
    result = search(base, search_for(request, text))
    source = None if result.query.mode == "lexical" else vector_source(base, result.query)
    # Judged in the order that the evidence was fitted for, not in a cross-encoder's.
    judged_hits = result.judged_hits if result.ordered_before else result.note_hits
    quotable = quotable_passages(base.db, dict.fromkeys((*result.note_hits, *judged_hits)))
    judged = tuple(
        quotable[hit.chunk_id]._replace(number=number)
        for number, hit in enumerate((hit for hit in judged_hits if hit.chunk_id in quotable), 1)
    )
    hits = tuple(hit for hit in result.note_hits if hit.chunk_id in quotable)[: request.k]
    found = Findings(
        request=request,
        history=history,
        search_text=result.read_as,
        result=result._replace(hits=hits),
        embedding=None if source is None else EmbeddingRef(source.model, source.dimensions, source.provider),
        config=base.config,
        started=started,
        context_tokens=base.defaults.budget_tokens(request.context_tokens),
        passages=tuple(quotable[hit.chunk_id]._replace(number=number) for number, hit in enumerate(hits, 1)),
        judgement=_judged(base, result, judged),
    )
    return found if result.code is None else _notes_or_code(base.db, found, result.code)


def quotable_passages(db: Connection, hits: Iterable[Passage]) -> dict[str, Passage]:
    """The hits that contain a sentence, by chunk id; a hit cited by times or regions is cited as a whole chunk.

    Embeds and lists of links or pages are left out: they match questions but answer none.
    """
    quotable = {
        hit.chunk_id: hit._replace(cited=None) if hit.is_cited_by_place else hit
        for hit in hits
        if next(sentence_ranges(hit.text), None) is not None and not lists_pages(hit.text)
    }
    unread = [chunk for chunk, hit in quotable.items() if not hit.lang]  # a search by words alone does not read it
    rows = queries.select_chunk_languages(db, chunk_ids_json=json.dumps(unread)) if unread else []
    return quotable | {row.chunk_id: quotable[row.chunk_id]._replace(lang=row.lang) for row in rows}


def _judged(base: ConnectedBase, result: SearchResult, passages: Sequence[Passage]) -> Judgement | None:
    """The judgement of a search result; None without passages.

    `passages` are the first hits that have sentences, in the order for which the judgement was fitted.
    """
    if not passages:
        return None
    question = result.read_as or result.query.text
    terms = term_weights(base.index, result.searched)
    excerpts = read_excerpts(question, terms, passages[:READ_PASSAGES], base.judge)
    found = [_with_share(base, result, each.retrieval) for each in passages[:JUDGED_HITS]]
    first = [each.chunk_id for each in passages].index(excerpts[0].passage.chunk_id) if excerpts else 0
    days = result.days
    is_undated = days is not None and days.is_relative and not days.documents
    best = standing(found[first], result.candidates or found)
    language = query_language(result.query.text)
    doubt = _doubt(question, excerpts, best.is_own, language)
    return judge(question, terms, excerpts, best, is_undated)._replace(
        doubt=doubt or _doubt_of_days(result, excerpts, language),
        other=differing(question, terms, excerpts, base.judge) if base.judge is not None and excerpts else None,
    )


def _with_share(base: ConnectedBase, result: SearchResult, found: RetrievalDetail) -> RetrievalDetail:
    """The scores of a hit with its share of the question's words, which a search by words alone does not compute."""
    if found.lexical_share is not None or found.lexical_score is None:
        return found
    highest = base.index.bm25_max(result.searched)
    return found._replace(lexical_share=min(1.0, found.lexical_score / highest) if highest else 0.0)


def _doubt(question: str, excerpts: Sequence[Excerpt], is_own: bool, language: str) -> str | None:
    """A doubt about the best pieces, in the question's language; None if there is none.

    Sentences are compared with the question only in its own language (`is_own`).
    """
    for best in excerpts[:1]:
        if is_own and read_sentence(question, best.best.text, best.passage).is_doubted:
            return say(language, "doubtful")
        if (lack := lacking(question, best, is_own)) is not None:
            return say(language, f"lacks {lack}")
    return None


def _doubt_of_days(result: SearchResult, excerpts: Sequence[Excerpt], language: str) -> str | None:
    """The doubt that the best passage is about other days than the question; None if there is none.

    Digits may be a date that a text mentions: a date without a year counts only if documents are dated so.
    """
    days = result.days
    if days is None or not excerpts or not result.candidates:
        return None
    best = excerpts[0].passage
    if best.retrieval.is_favoured:
        return None
    around = " ".join((best.title, *best.heading_path, best.doc_path, best.text))
    lacks_year = any(year not in around for year in _YEAR.findall(days.phrase))
    is_only_mentioned = any(char.isdigit() for char in days.phrase) and not days.documents and not lacks_year
    in_words = occurs(days.phrase, best.text, "words")
    return None if is_only_mentioned or in_words else say(language, "of_other_days", days.phrase)


def _notes_or_code(db: Connection, notes: Findings, code: CodeFound) -> Findings:
    """The findings to answer from: those in notes, or those in source code."""
    from kb.answer.code import judge_code  # a knowledge base without code need not load it

    kept = code._replace(hits=code.hits[: notes.request.k])
    found = notes._replace(
        result=notes.result._replace(hits=tuple(each.passage for each in kept.hits)),
        passages=tuple(code_passage(number, each) for number, each in enumerate(kept.hits, 1)),
        judgement=judge_code(db, code),
        code=kept,
    )
    if not notes.result.hits or (code.is_of_code and found.state != "refused"):
        return found
    if notes.state == "answered" or found.state == "refused":
        return notes
    # Notes that may answer count more than a plain word that code happens to define.
    is_meant = found.state == "answered" and not code.hits[0].is_named
    return found if is_meant or notes.state == "refused" else notes
