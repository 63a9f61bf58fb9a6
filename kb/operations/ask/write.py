"""Writes an answer or refusal from the findings: by the first model that works, or by quoting sentences."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import nullcontext
from datetime import date, timedelta
from typing import TYPE_CHECKING

from kb.answer.judging import Judgement
from kb.answer.pieces import Excerpt
from kb.answer.quoting import Quoted, quote_briefly, quote_excerpts
from kb.answer.wording import NAMED_LANGUAGES, say, why
from kb.answer.words import expectation, words_of
from kb.domain.answers import Answer, Written
from kb.domain.code_hits import CodeFound
from kb.domain.generation import LanguageModel, ModelRef
from kb.domain.run_handle import RunHandle
from kb.errors import ModelError
from kb.language.dates import time_span
from kb.operations.ask.findings import Findings
from kb.operations.opening.base import ConnectedBase
from kb.store import queries

if TYPE_CHECKING:
    from kb.operations.ask.generate import Generation  # a quoted answer need not load it

# A day that is another one of its year where it is written so much later is relative. "45일 전" may be before anything.
_LATER = timedelta(days=800)
_COUNTED = re.compile(r"\d\s?(?:일|주|개월|달|년) ?[전뒤후]")

EXTRACTIVE = ModelRef("extractive-v1", "extractive")


def answer_found(base: ConnectedBase, found: Findings, handle: RunHandle) -> tuple[Answer, ModelError | None]:
    """The answer or refusal, and the error that ended it, None without one."""
    refused = _refusal(base, found)
    if refused is not None:
        return refused, None

    def write(model: LanguageModel) -> Generation | None:
        from kb.operations.ask.generate import generate_answer

        hidden = base.hidden_from_models()
        readable = tuple(each for each in found.passages if each.doc_path not in hidden)
        # Earlier turns may quote hidden text.
        asked = found._replace(history=()) if hidden else found
        return generate_answer(base, asked, readable, model, handle) if readable else None

    return write_or_quote(base, found, write, lambda: _quote(base, found))


def quote_found(base: ConnectedBase, found: Findings) -> Answer:
    """The answer as quoted sentences, or the refusal."""
    return _refusal(base, found) or _quote(base, found)


def write_or_quote(
    base: ConnectedBase,
    found: Findings,
    write: Callable[[LanguageModel], Generation | None],
    quote: Callable[[], Answer],
) -> tuple[Answer, ModelError | None]:
    """The answer of the first model that works, and the error that ended its text early, if any.

    If a model fails before its first word, the next one is tried. `quote` gives the answer instead if there is no
    model, if the model may read none of the findings (`write` returns None), or if the sources support none of its
    text, which is then stored with the answer.
    """
    from kb.operations.ask.language_model import language_models

    failed: tuple[Answer, ModelError | None] | None = None
    notes: tuple[str, ...] = ()
    for model in language_models(base.config, found.request.provider, base.models):
        if model is None:
            return _noting(quote(), notes), None
        # A model in this process generates one text at a time.
        turn = base.models.one_at_a_time("writing") if model.model_ref.provider == "llama_cpp" else nullcontext()
        with turn:
            made = write(model)
        if made is None:
            return _noting(quote(), (*notes, say(found.language, "kept_from_models"))), None
        if made.unproven:
            return _noting(_instead(quote(), made.answer, found.language), notes), None
        failed = _noting(made.answer, notes), made.fault
        if made.fault is None or made.answer.written.generated_text:
            break
        notes = (*notes, say(found.language, "did_not_answer", model.model_ref.id, why(found.language, made.fault)))
    assert failed is not None
    return failed


def _refusal(base: ConnectedBase, found: Findings) -> Answer | None:
    """The refusal, if the findings allow no answer; else None."""
    if not found.result.hits:
        state = base.index.state
        return found.refusal("no_chunks" if state.chunks + state.code_chunks else "no_index")
    return found.refusal("score_gate") if found.state == "refused" else None


def _quote(base: ConnectedBase, found: Findings) -> Answer:
    """Sentences of the notes, word for word."""
    written = Written(EXTRACTIVE, found.passages)
    if found.code is not None:
        return _quote_code(found, found.code, written)
    judged = found.judgement
    if judged is None or not judged.excerpts:
        return found.refusal("llm_self_judge", written)
    asked_for = {passage.chunk_id for passage in found.passages}
    excerpts, quote = (
        (judged.shown(), quote_excerpts) if found.state == "answered" else (judged.perhaps(), quote_briefly)
    )
    excerpts, days = _newest_first(base, judged, excerpts)
    quoted = quote([each for each in excerpts if each.passage.chunk_id in asked_for], found.first_number)
    other = {each.lang for each in quoted.cited[:1]} & NAMED_LANGUAGES - {found.language}
    notes = tuple(say(found.language, f"quoted in {language}") for language in other)
    if judged.other is not None and len(quoted.cited) > 1:
        places = [f"[{each.number}]" for each in quoted.cited[:2]]
        notes += (say(found.language, "differ, dated" if days else "differ", *places, *days),)
    if "time" in expectation(words_of(found.request.question).words).kinds:
        notes += _written_on(base, found.language, quoted)
    return found.answer(written, quoted.text, quoted.claims, quoted.cited, notes)


def _newest_first(
    base: ConnectedBase, judged: Judgement, excerpts: tuple[Excerpt, ...]
) -> tuple[tuple[Excerpt, ...], tuple[str, ...]]:
    """The excerpts, of two places that differ the newer first, and the days of both, empty if unknown or equal."""
    if judged.other is None:
        return excerpts, ()
    dated = [(queries.select_written_on(base.db, doc_id=each.passage.doc_id), each) for each in excerpts[:2]]
    days = [(row.day, each) for row, each in dated if row is not None]
    if len(days) < 2 or days[0][0] == days[1][0]:
        return excerpts, ()
    days.sort(key=lambda each: each[0], reverse=True)
    return (*(each for _, each in days), *excerpts[2:]), tuple(day for day, _ in days)


def _written_on(base: ConnectedBase, language: str, quoted: Quoted) -> tuple[str, ...]:
    """A note on when a quoted "next Friday" was written, if its document says so; empty without such a day."""
    by_number = {each.number: each.doc_id for each in quoted.cited}
    for claim in quoted.claims:
        row = queries.select_written_on(base.db, doc_id=by_number[claim.passages[0]])
        if row is None:
            continue
        written = date.fromisoformat(row.day)
        days, later = (time_span(claim.text, day) for day in (written, written + _LATER))
        if days and later and f"{days.first:%m-%d}" != f"{later.first:%m-%d}" and not _COUNTED.search(days.phrase):
            return (say(language, "written_on", days.phrase, row.day),)
    return ()


def _quote_code(found: Findings, code: CodeFound, written: Written) -> Answer:
    """Definitions, statements and the comments that document them, word for word."""
    from kb.answer.code import answering, is_cut, quote_code  # a knowledge base without code need not load it

    hits = answering(code, is_sure=found.state == "answered")
    passages = {passage.chunk_id: passage for passage in written.packed}
    quoted = quote_code(hits, [passages[hit.passage.chunk_id] for hit in hits], found.first_number)
    notes = tuple(say(found.language, "goes_on", hit.passage.citation.to_uri()) for hit in hits if is_cut(hit))
    return found.answer(written, quoted.text, quoted.claims, quoted.cited, notes)


def _instead(quoted: Answer, unproven: Answer, language: str) -> Answer:
    """The quoted answer in place of a model's text that the sources do not support; that text is stored with it."""
    if quoted.refusal_reason is not None:
        return _noting(unproven, quoted.notes)
    model, _, messages, usage, text = unproven.written
    kept = quoted._replace(written=quoted.written._replace(messages=messages, usage=usage, generated_text=text))
    return _noting(kept, (say(language, "quoted_instead", model.id),))


def _noting(answer: Answer, notes: tuple[str, ...]) -> Answer:
    return answer._replace(notes=(*notes, *answer.notes)) if notes else answer
