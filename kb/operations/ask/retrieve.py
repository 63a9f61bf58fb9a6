"""What is found for a question: resolved in its conversation, searched for, and judged."""

from __future__ import annotations

from kb.answer.follow_up import resolve
from kb.domain.answers.answer import EmbeddingRef, Turn
from kb.domain.search import SearchQuery, SearchResult
from kb.domain.text import stored_text
from kb.operations.answers.records import conversation
from kb.operations.ask.findings import AskRequest, Findings, hit_passages, quotable
from kb.operations.ask.judge_passages import JUDGED_HITS, judge_passages, read_evidence
from kb.operations.search.search import search_in, vector_source
from kb.operations.session.knowledge_base import KnowledgeBase


def search_for(request: AskRequest, text: str) -> SearchQuery:
    """What is searched for a question: `text` is the question, resolved."""
    return SearchQuery(text, request.mode, max(request.k, JUDGED_HITS), request.filters)


def retrieve(
    base: KnowledgeBase, request: AskRequest, started: float, searched: SearchResult | None = None
) -> Findings:
    """What is found for the question, resolved; where that has no evidence, for the question as it was asked.

    `started` is of the monotonic clock; what was `searched` for the same question is not searched again.
    """
    with base.snapshot():
        history = conversation(base.db, request.session_id) if request.session_id else ()
        text = resolve(request.question, history)
        alone = " ".join(stored_text(request.question).split())
        found = _found(base, request, history, text, started, searched)
        if text == alone or found.state != "refused":
            return found
        by_itself = _found(base, request, history, alone, started)
        return found if by_itself.state == "refused" else by_itself


def _found(
    base: KnowledgeBase,
    request: AskRequest,
    history: tuple[Turn, ...],
    text: str,
    started: float,
    searched: SearchResult | None = None,
) -> Findings:
    wanted = search_for(request, text)
    result = searched if searched is not None and searched.query == wanted else search_in(base, wanted)
    hits = quotable(base.db, result.note_hits)
    # In the order that the evidence was fitted for, whatever a cross-encoder makes of it.
    judged = quotable(base.db, result.judged_hits) if result.ordered_before else hits
    judgement = judge_passages(base, result, hit_passages(base.db, judged))
    evidence = None if judgement is None else read_evidence(judgement)
    shown = result._replace(hits=hits[: request.k])
    embedding = _embedding(base, result)
    budget = base.defaults.budget_tokens(request.context_tokens)
    found = Findings(
        request, history, result.read_as, shown, evidence, embedding, base.config, started, budget, judgement
    )
    if result.code is None:
        return found
    from kb.operations.ask.code_findings import of_notes_or_code  # a knowledge base of notes alone does without

    return of_notes_or_code(base.db, found, result.code)


def _embedding(base: KnowledgeBase, result: SearchResult) -> EmbeddingRef | None:
    if result.query.mode == "lexical":
        return None
    source = vector_source(base, result.query)
    return None if source is None else EmbeddingRef(source.model, source.dimensions, source.provider)
