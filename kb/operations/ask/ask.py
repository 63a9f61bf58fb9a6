"""Answers a question from the notes, with citations, or refuses: search → gate → answerer → checks → record.

question ─▶ resolve (conversation) ─▶ search ─▶ evidence ≥ rag.score_gate? ─no─▶ refusal with the nearest hits
                                                    │ yes
                                                    ▼
                   extractive: sentences word for word    or    a model: prompt, tokens as they come, checks
"""

from __future__ import annotations

import time
from contextlib import nullcontext

from kb.answer.evidence import JUDGED_HITS, score_evidence
from kb.answer.follow_up import resolve
from kb.answer.quoting import Quoted, quote_across, quote_answer, quote_excerpts
from kb.answer.reading import reading_model
from kb.answer.wording import (
    did_not_answer,
    kept_from_models,
    not_kept,
    poor_fit,
    quoted_instead,
    refusal_text,
    stopped_early,
)
from kb.config import Config
from kb.domain.answers.answer import Answer, EmbeddingRef, RetrievalSummary, Turn
from kb.domain.answers.answer_events import Retrieved
from kb.domain.answers.generation import ModelRef, TokenUsage
from kb.domain.passages import Passage
from kb.domain.run_handle import RunHandle
from kb.domain.search import SearchQuery, SearchResult
from kb.domain.text import stored_text
from kb.errors import KbError, ModelError, NotIndexed, StoreError, UsageError
from kb.language.detect import query_language
from kb.operations.answers.records import conversation, record_answer
from kb.operations.ask.findings import AskRequest, Findings, Written, new_trace_id, quotable, settings_of
from kb.operations.ask.judge_passages import judge_passages, read_evidence
from kb.operations.opening.clock import now_utc
from kb.operations.search.search import search_in, vector_source
from kb.operations.session.knowledge_base import KnowledgeBase
from kb.operations.session.session import Session
from kb.retrieve.signals import term_weights

EXTRACTIVE = ModelRef("extractive-v1", "extractive")


def ask(session: Session, request: AskRequest, handle: RunHandle) -> Answer:
    """The answer to one question; where there is no knowledge base yet, the refusal that says so.

    Ctrl-C once the passages are found, or a canceled `handle`, ends the answer: what there is of it is kept, and
    returned.
    Raises: UsageError for what is no question; ModelError where the model fails, what there is of the answer having
    been kept.
    """
    try:
        with session.reading() as base:
            return ask_in(base, request, handle)
    except NotIndexed as error:
        return _without_index(session.config, request, error)


def ask_in(base: KnowledgeBase, request: AskRequest, handle: RunHandle, searched: SearchResult | None = None) -> Answer:
    """The same, of a knowledge base in hand; what was `searched` for the same question there is not searched again."""
    if not request.question.strip():
        raise UsageError("no question", 'example: kb ask "청킹 규칙은?"')
    started = time.monotonic()
    request = request._replace(
        question=stored_text(request.question), session_id=request.session_id and stored_text(request.session_id)
    )
    found = retrieve(base, request, started, searched)
    try:
        handle.tell(Retrieved(found.result, found.evidence, base.config.rag.score_gate))
        answer, fault = _answer(base, found, handle)
    except KbError as error:
        _keep(found, found.refusal("llm_stream_aborted", notes=(error.message,)))
        raise
    except KeyboardInterrupt:
        answer, fault = found.refusal("llm_stream_aborted", notes=(stopped_early(found.language),)), None
    kept = _keep(found, answer)
    if fault is not None:
        raise fault
    return kept


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
    judgement = judge_passages(base, wanted, result, judged) if result.is_read else None
    evidence = score_evidence(base.db, result.searched, judged) if judgement is None else read_evidence(judgement)
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


def _answer(base: KnowledgeBase, found: Findings, handle: RunHandle) -> tuple[Answer, ModelError | None]:
    """The answer or refusal, and what broke it off, if something did."""
    if not found.result.hits:
        return found.refusal("no_chunks" if _holds_chunks(base) else "no_index"), None
    if found.state == "refused":
        return found.refusal("score_gate"), None
    passages = found.passages(base.db)
    if not passages:
        return found.refusal("no_chunks"), None  # an ingest removed them just now
    return _write(base, found, passages, handle)


def _write(
    base: KnowledgeBase,
    found: Findings,
    passages: tuple[Passage, ...],
    handle: RunHandle,
) -> tuple[Answer, ModelError | None]:
    """What the first model writes that can; one that fails before its first word leaves it to the next."""
    from kb.operations.ask.language_model import language_models

    failed: tuple[Answer, ModelError | None] | None = None
    notes: tuple[str, ...] = ()
    for model in language_models(base.config, found.request.provider, base.models):
        if model is None:
            return _noting(_quote(base, found, passages), notes), None
        from kb.operations.ask.generate import generate_answer

        readable, found = _for_a_model(base, found, passages)
        if not readable:
            return _noting(_quote(base, found, passages), (*notes, kept_from_models(found.language))), None

        # A model in this process writes one text at a time.
        turn = base.models.one_at_a_time("writing") if model.model_ref.provider == "llama_cpp" else nullcontext()
        with turn:
            made = generate_answer(base, found, readable, model, handle)
        answer, fault = made.answer, made.fault
        if made.unproven:
            return _noting(_quote_instead(base, found, passages, answer), notes), None
        failed = _noting(answer, notes), fault
        if fault is None or answer.generated_text:
            break
        notes = (*notes, did_not_answer(found.language, model.model_ref.id, fault))
    assert failed is not None
    return failed


def _for_a_model(
    base: KnowledgeBase, found: Findings, passages: tuple[Passage, ...]
) -> tuple[tuple[Passage, ...], Findings]:
    """The passages that a language model may read; without the turns before, where any of them may quote another."""
    hidden = base.hidden_from_models()
    if not hidden:
        return passages, found
    return tuple(each for each in passages if each.doc_path not in hidden), found._replace(history=())


def _quote(base: KnowledgeBase, found: Findings, passages: tuple[Passage, ...]) -> Answer:
    """Sentences of the notes, word for word."""
    written = Written(EXTRACTIVE, passages)
    if found.code is not None:
        from kb.operations.ask.code_findings import answer_with_code  # as above

        return answer_with_code(found, found.code, written)
    if found.judgement is not None:
        judged = found.judgement
        read = quote_excerpts(judged.shown() if found.state == "answered" else judged.perhaps())
        return found.answer(written, read.text, read.claims, read.cited)
    quoted = _quoted(base, found, passages)
    if not quoted.claims:
        return found.refusal("llm_self_judge", written)
    if quoted.reading is not None and quoted.reading < (model := reading_model()).gate:
        fit = f"{quoted.reading:.2f} < {model.gate} ({model.version})"
        return _noting(found.refusal("llm_self_judge", written), (poor_fit(found.language, fit),))
    return found.answer(written, quoted.text, quoted.claims, quoted.cited)


def _quote_instead(base: KnowledgeBase, found: Findings, passages: tuple[Passage, ...], unproven: Answer) -> Answer:
    """The notes' own sentences in the place of a model's, none of which its sources support; its text is kept."""
    answer = _quote(base, found, passages)
    if answer.refusal_reason is not None:
        return _noting(unproven, answer.notes)
    kept = answer._replace(messages=unproven.messages, generated_text=unproven.generated_text, usage=unproven.usage)
    return _noting(kept, (quoted_instead(found.language, unproven.model.id),))


def _quoted(base: KnowledgeBase, found: Findings, passages: tuple[Passage, ...]) -> Quoted:
    """Sentences of the nearest passages' language: another than the question's where those decided the gate."""
    evidence = found.evidence
    own = [hit.retrieval.nearness for hit in found.result.hits if hit.retrieval.is_own]
    nearness = max((near for near in own if near is not None), default=None)
    if evidence is not None and evidence.channel == "cross" and (nearness or 0.0) < (evidence.nearness or 0.0):
        source = vector_source(base, found.result.query)
        if source is not None:
            return quote_across(found.search_text, passages, source.similarities)
    terms = term_weights(base.db, found.result.searched)
    return quote_answer(found.search_text, terms, passages, nearness)


def _embedding(base: KnowledgeBase, result: SearchResult) -> EmbeddingRef | None:
    if result.query.mode == "lexical":
        return None
    source = vector_source(base, result.query)
    return None if source is None else EmbeddingRef(source.model, source.dimensions, source.provider)


def _holds_chunks(base: KnowledgeBase) -> bool:
    from kb.store.rows.retrieve_queries import select_chunk_total, select_code_total

    totals = (select_chunk_total(base.db), select_code_total(base.db))
    return any(total is not None and total.chunks > 0 for total in totals)


def _keep(found: Findings, answer: Answer) -> Answer:
    """Records the answer. A store that cannot be written costs the record, not the answer, which says so."""
    if not found.request.keep:
        return answer
    from kb.store.connection import open_writer, sqlite_errors

    try:
        db = open_writer(found.config.sqlite)
        try:
            with sqlite_errors(found.config.sqlite):
                return record_answer(db, answer, settings_of(found), int(time.time()))
        finally:
            db.close()
    except StoreError as error:
        note = not_kept(query_language(answer.question), error)
        return answer._replace(notes=(*answer.notes, note))


def _noting(answer: Answer, notes: tuple[str, ...]) -> Answer:
    return answer._replace(notes=(*notes, *answer.notes)) if notes else answer


def _without_index(config: Config, request: AskRequest, error: NotIndexed) -> Answer:
    """The refusal of a question where nothing has been indexed; it cannot be kept."""
    language = query_language(request.question)
    return Answer(
        question=request.question,
        search_query=request.question,
        text=refusal_text("no_index", language),
        citations=(),
        claims=(),
        grounded=False,
        refusal_reason="no_index",
        model=EXTRACTIVE,
        embedding=None,
        prompt_template_version=config.rag.prompt_template_version,
        retrieval=RetrievalSummary(new_trace_id(), request.mode, request.k, config.rag.score_gate, 0.0, 0, 0),
        evidence=None,
        usage=TokenUsage(0, 0, 0),
        created_at=now_utc(),
        index_version="",
        ranking_version=None,
        notes=(f"{error.message} ({error.hint})",),
    )
