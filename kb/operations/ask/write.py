"""What was found → an answer or refusal: by the first model that can write, or in the notes' own sentences."""

from __future__ import annotations

from contextlib import nullcontext

from kb.answer.quoting import quote_excerpts
from kb.answer.wording import did_not_answer, kept_from_models, quoted_instead
from kb.domain.answers.answer import Answer
from kb.domain.answers.generation import ModelRef
from kb.domain.passages import Passage
from kb.domain.run_handle import RunHandle
from kb.errors import ModelError
from kb.operations.ask.findings import Findings, Written
from kb.operations.session.knowledge_base import KnowledgeBase
from kb.store import queries

EXTRACTIVE = ModelRef("extractive-v1", "extractive")


def answer_found(base: KnowledgeBase, found: Findings, handle: RunHandle) -> tuple[Answer, ModelError | None]:
    """The answer or refusal, and what broke it off, if something did."""
    passages = _evidence(base, found)
    return (passages, None) if isinstance(passages, Answer) else _write(base, found, passages, handle)


def quote_found(base: KnowledgeBase, found: Findings) -> Answer:
    """The answer in the notes' own sentences, or the refusal."""
    passages = _evidence(base, found)
    return passages if isinstance(passages, Answer) else quote(base, found, passages)


def _evidence(base: KnowledgeBase, found: Findings) -> tuple[Passage, ...] | Answer:
    """The passages that an answer can be made of, or the refusal."""
    if not found.result.hits:
        return found.refusal("no_chunks" if _holds_chunks(base) else "no_index")
    if found.state == "refused":
        return found.refusal("score_gate")
    # An ingest may have removed all of them just now.
    return found.passages(base.db) or found.refusal("no_chunks")


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
            return noting(quote(base, found, passages), notes), None
        from kb.operations.ask.generate import generate_answer

        readable, found = for_a_model(base, found, passages)
        if not readable:
            return noting(quote(base, found, passages), (*notes, kept_from_models(found.language))), None

        # A model in this process writes one text at a time.
        turn = base.models.one_at_a_time("writing") if model.model_ref.provider == "llama_cpp" else nullcontext()
        with turn:
            made = generate_answer(base, found, readable, model, handle)
        answer, fault = made.answer, made.fault
        if made.unproven:
            return noting(_quote_instead(base, found, passages, answer), notes), None
        failed = noting(answer, notes), fault
        if fault is None or answer.generated_text:
            break
        notes = (*notes, did_not_answer(found.language, model.model_ref.id, fault))
    assert failed is not None
    return failed


def for_a_model(
    base: KnowledgeBase, found: Findings, passages: tuple[Passage, ...]
) -> tuple[tuple[Passage, ...], Findings]:
    """The passages that a language model may read; without the turns before, where any of them may quote another."""
    hidden = base.hidden_from_models()
    if not hidden:
        return passages, found
    return tuple(each for each in passages if each.doc_path not in hidden), found._replace(history=())


def quote(base: KnowledgeBase, found: Findings, passages: tuple[Passage, ...]) -> Answer:
    """Sentences of the notes, word for word."""
    written = Written(EXTRACTIVE, passages)
    if found.code is not None:
        from kb.operations.ask.code_findings import answer_with_code  # as above

        return answer_with_code(found, found.code, written)
    judged = found.judgement
    if judged is None or not judged.excerpts:
        return found.refusal("llm_self_judge", written)
    asked_for = {passage.chunk_id for passage in passages}
    pieces = judged.shown() if found.state == "answered" else judged.perhaps()
    quoted = quote_excerpts([each for each in pieces if each.passage.chunk_id in asked_for], found.first_number)
    return found.answer(written, quoted.text, quoted.claims, quoted.cited)


def _quote_instead(base: KnowledgeBase, found: Findings, passages: tuple[Passage, ...], unproven: Answer) -> Answer:
    """The notes' own sentences in the place of a model's, none of which its sources support; its text is kept."""
    answer = quote(base, found, passages)
    if answer.refusal_reason is not None:
        return noting(unproven, answer.notes)
    kept = answer._replace(messages=unproven.messages, generated_text=unproven.generated_text, usage=unproven.usage)
    return noting(kept, (quoted_instead(found.language, unproven.model.id),))


def _holds_chunks(base: KnowledgeBase) -> bool:
    totals = (queries.select_chunk_total(base.db), queries.select_code_total(base.db))
    return any(total is not None and total.chunks > 0 for total in totals)


def noting(answer: Answer, notes: tuple[str, ...]) -> Answer:
    return answer._replace(notes=(*notes, *answer.notes)) if notes else answer
