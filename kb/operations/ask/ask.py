"""Answers a question from the notes, with citations, or refuses: search → gate → answerer → checks → record.

question ─▶ resolve (conversation) ─▶ search ─▶ evidence ≥ rag.score_gate? ─no─▶ refusal with the nearest hits
                                                    │ yes
                                                    ▼
                   extractive: sentences word for word    or    a model: prompt, tokens as they come, checks
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kb.answer.evidence import JUDGED_HITS, score_evidence
from kb.answer.follow_up import resolve
from kb.answer.quoting import Quoted, quote_across, quote_answer, quote_excerpts, term_weights
from kb.answer.reading import READING_GATE, WEIGHTS_VERSION
from kb.answer.wording import refusal_text
from kb.config import Config
from kb.domain.answers import Answer, EmbeddingRef, RetrievalSummary, Turn
from kb.domain.generation import LanguageModel, ModelRef, TokenUsage
from kb.domain.passages import Passage
from kb.domain.search import SearchQuery, SearchResult
from kb.domain.text import stored_text
from kb.errors import KbError, ModelError, NotIndexed, StoreError, UsageError
from kb.language.detect import query_language
from kb.operations.answers.records import conversation, record_answer
from kb.operations.ask.asking import Asked, AskRequest, OnEvent, Retrieved, Written, new_trace_id, quotable, settings_of
from kb.operations.ask.judging import Judging, read_evidence
from kb.operations.opening.clock import now_utc
from kb.operations.opening.reader import Reader, reading
from kb.operations.search.search import Answering

EXTRACTIVE = ModelRef("extractive-v1", "extractive")

Asker = Callable[[AskRequest, OnEvent, Callable[[], bool]], Answer]


@contextmanager
def open_asker(config: Config, *, many: bool = False) -> Iterator[Asker]:
    """A function that answers one question after another over one open knowledge base.

    It takes the question, a function for its events, and one that tells whether to stop. Raises: NotIndexed and its
    kin; the function itself UsageError for what is no question, and ModelError where the model fails, what there is of
    the answer having been kept.
    """
    with reading(config.sqlite) as reader:
        yield asker_over(reader, config, many=many)


def asker_over(reader: Reader, config: Config, *, many: bool) -> Asker:
    """The same over a knowledge base that is open already."""
    return _Asking(reader, config, many).ask


def ask(config: Config, request: AskRequest, on_event: OnEvent, stopped: Callable[[], bool] = lambda: False) -> Answer:
    """The answer to one question; where there is no knowledge base yet, the refusal that says so.

    Ctrl-C once the passages are found, or `stopped`, ends the answer: what there is of it is kept, and returned.
    """
    try:
        with open_asker(config) as asker:
            return asker(request, on_event, stopped)
    except NotIndexed as error:
        return _without_index(config, request, error)


class _Asking:
    """An open knowledge base and what answers from it."""

    def __init__(self, reader: Reader, config: Config, many: bool) -> None:
        self._reader = reader
        self._config = config
        self._searching = Answering(reader, config, many)
        self._judging = Judging(reader.db, self._searching)
        self._models: dict[ModelRef, LanguageModel] = {}

    def ask(self, request: AskRequest, on_event: OnEvent, stopped: Callable[[], bool]) -> Answer:
        """One question, answered or refused, and kept."""
        if not request.question.strip():
            raise UsageError("no question", 'example: kb ask "청킹 규칙은?"')
        started = time.monotonic()
        request = request._replace(
            question=stored_text(request.question), session_id=request.session_id and stored_text(request.session_id)
        )
        history = conversation(self._reader.db, request.session_id) if request.session_id else ()
        asked = self._retrieve(request, history, started)
        try:
            on_event(Retrieved(asked.result, asked.evidence, self._config.rag.score_gate))
            answer, fault = self._answer(asked, on_event, stopped)
        except KbError as error:
            self._keep(asked.refusal("llm_stream_aborted", notes=(error.message,)), request)
            raise
        except KeyboardInterrupt:
            answer, fault = asked.refusal("llm_stream_aborted", notes=("stopped before the end",)), None
        kept = self._keep(answer, request)
        if fault is not None:
            raise fault
        return kept

    def _retrieve(self, request: AskRequest, history: tuple[Turn, ...], started: float) -> Asked:
        """What is found for the question, resolved; where that has no evidence, for the question as it was asked."""
        text = resolve(request.question, history)
        alone = " ".join(stored_text(request.question).split())
        asked = self._found(request, history, text, started)
        if text == alone or self._passes(asked):
            return asked
        by_itself = self._found(request, history, alone, started)
        return by_itself if self._passes(by_itself) else asked

    def _found(self, request: AskRequest, history: tuple[Turn, ...], text: str, started: float) -> Asked:
        wanted = SearchQuery(text, request.mode, max(request.k, JUDGED_HITS), request.filters)
        result = self._searching.answer(wanted)
        hits = quotable(self._reader.db, result.hits)
        judgement = self._judging.judge(wanted, result, hits) if result.is_read else None
        evidence = score_evidence(self._reader.db, text, hits) if judgement is None else read_evidence(judgement)
        shown = result._replace(hits=hits[: request.k])
        embedding = self._embedding(result)
        return Asked(request, history, text, shown, evidence, embedding, self._config, started, judgement)

    def _passes(self, asked: Asked) -> bool:
        return asked.state != "refused"

    def _answer(self, asked: Asked, on_event: OnEvent, stopped: Callable[[], bool]) -> tuple[Answer, ModelError | None]:
        """The answer or refusal, and what broke it off, if something did."""
        if not asked.result.hits:
            return asked.refusal("no_chunks" if self._holds_chunks() else "no_index"), None
        if not self._passes(asked):
            return asked.refusal("score_gate"), None
        passages = asked.passages(self._reader.db)
        if not passages:
            return asked.refusal("no_chunks"), None  # an ingest removed them just now
        return self._write(asked, passages, on_event, stopped)

    def _write(
        self, asked: Asked, passages: tuple[Passage, ...], on_event: OnEvent, stopped: Callable[[], bool]
    ) -> tuple[Answer, ModelError | None]:
        """What the first model writes that can; one that fails before its first word leaves it to the next."""
        from kb.operations.ask.language_model import language_models

        failed: tuple[Answer, ModelError | None] | None = None
        notes: tuple[str, ...] = ()
        for model in language_models(self._config, asked.request.provider):
            if model is None:
                return _noting(self._quote(asked, passages), notes), None
            from kb.operations.ask.generate import generate_answer

            model = self._models.setdefault(model.model_ref, model)  # what one has loaded stays loaded
            made = generate_answer(asked, passages, model, self._searching, self._reader.db, on_event, stopped)
            answer, fault = made.answer, made.fault
            if made.unproven:
                return _noting(self._quote_instead(asked, passages, answer), notes), None
            failed = _noting(answer, notes), fault
            if fault is None or answer.generated_text:
                break
            notes = (*notes, f"{model.model_ref.id} did not answer: {fault.message}")
        assert failed is not None
        return failed

    def _quote(self, asked: Asked, passages: tuple[Passage, ...]) -> Answer:
        if asked.judgement is not None:
            judged = asked.judgement
            read = quote_excerpts(judged.shown() if asked.state == "answered" else judged.perhaps())
            return asked.answer(Written(EXTRACTIVE, passages), read.text, read.claims, read.cited)
        quoted = self._quoted(asked, passages)
        written = Written(EXTRACTIVE, passages)
        if not quoted.claims:
            return asked.refusal("llm_self_judge", written)
        if quoted.reading is not None and quoted.reading < READING_GATE:
            fit = f"{quoted.reading:.2f}, below {READING_GATE} ({WEIGHTS_VERSION})"
            note = f"how well the best sentence fits the question: {fit}"
            return _noting(asked.refusal("llm_self_judge", written), (note,))
        return asked.answer(written, quoted.text, quoted.claims, quoted.cited)

    def _quote_instead(self, asked: Asked, passages: tuple[Passage, ...], unproven: Answer) -> Answer:
        """The notes' own sentences in the place of a model's, none of which its sources support; its text is kept."""
        answer = self._quote(asked, passages)
        note = f"{unproven.model.id} wrote nothing that its sources support; these are your notes' own sentences"
        if answer.refusal_reason is not None:
            return _noting(unproven, answer.notes)
        kept = answer._replace(messages=unproven.messages, generated_text=unproven.generated_text, usage=unproven.usage)
        return _noting(kept, (note,))

    def _quoted(self, asked: Asked, passages: tuple[Passage, ...]) -> Quoted:
        """Sentences of the nearest passages' language: another than the question's where those decided the gate."""
        evidence = asked.evidence
        own = [hit.retrieval.nearness for hit in asked.result.hits if hit.retrieval.is_own]
        nearness = max((near for near in own if near is not None), default=None)
        if evidence is not None and evidence.channel == "cross" and (nearness or 0.0) < (evidence.nearness or 0.0):
            source = self._searching.vector_source(asked.result.query)
            if source is not None:
                return quote_across(asked.search_text, passages, source.similarities)
        terms = term_weights(self._reader.db, asked.search_text)
        return quote_answer(asked.search_text, terms, passages, nearness)

    def _embedding(self, result: SearchResult) -> EmbeddingRef | None:
        if result.query.mode == "lexical":
            return None
        source = self._searching.vector_source(result.query)
        return None if source is None else EmbeddingRef(source.model, source.dimensions, source.provider)

    def _holds_chunks(self) -> bool:
        from kb.store.retrieve_queries import select_chunk_total

        total = select_chunk_total(self._reader.db)
        return total is not None and total.chunks > 0

    def _keep(self, answer: Answer, request: AskRequest) -> Answer:
        """Records the answer. A store that cannot be written costs the record, not the answer, which says so."""
        if not request.keep:
            return answer
        from kb.store.connection import open_writer, sqlite_errors

        try:
            db = open_writer(self._config.sqlite)
            try:
                with sqlite_errors(self._config.sqlite):
                    return record_answer(db, answer, settings_of(self._config, request), int(time.time()))
            finally:
                db.close()
        except StoreError as error:
            return answer._replace(notes=(*answer.notes, f"this answer was not kept: {error.message}"))


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
