"""A model's answer: prompt → tokens as they come → every sentence checked → what stands, or a refusal."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import closing

from kb.answer.checks import check_claims, is_refusal
from kb.answer.markers import MarkerFilter, show_markers
from kb.answer.prompt import build_prompt
from kb.domain.answers import Answer, Claim
from kb.domain.generation import Done, GenerateRequest, LanguageModel, Message, TokenUsage
from kb.domain.passages import Passage
from kb.operations.asking import Asked, Generated, OnEvent
from kb.operations.language_model import ModelChoice
from kb.operations.search import Answering
from kb.store import answer_queries as queries
from kb.store.connection import Connection

# A text a model has written so much of is a text gone astray, whatever its tokens count.
_MOST_CHARS = 200_000

LIKELY = 0.5
"""The evidence from which a sentence is taken to stand in a passage by its meaning."""


def generate_answer(
    asked: Asked,
    passages: tuple[Passage, ...],
    choice: ModelChoice,
    searching: Answering,
    db: Connection,
    on_event: OnEvent,
    stopped: Callable[[], bool],
) -> Answer:
    """What `choice.model` answers, checked. Raises: ModelError, what came before it having been handed out."""
    model, rag = choice.model, asked.config.rag
    assert model is not None
    budget = min(rag.max_context_tokens, max(0, model.context_tokens - rag.max_answer_tokens))
    messages, packed = build_prompt(
        rag.prompt_template_version, asked.request.question, asked.language, passages, asked.history, model, budget
    )
    request = _request(asked, messages)
    text, usage, whole = _stream(model, request, packed, on_event, stopped)
    notes = (choice.note,) if choice.note else ()
    if not whole:
        return asked.refusal(
            "llm_stream_aborted",
            model=model.model_ref,
            packed=packed,
            text=text.strip() or None,
            usage=usage,
            messages=messages,
            generated_text=text,
            notes=notes,
        )
    near_enough = _judge_of_nearness(asked, searching, db)
    claims = () if is_refusal(text) else check_claims(text, asked.search_text, packed, near_enough)
    dropped = tuple(f"dropped “{claim.text}”: {claim.reason}" for claim in claims if claim.status == "dropped")
    if not any(claim.status == "supported" for claim in claims):
        return asked.refusal(
            "llm_self_judge",
            model=model.model_ref,
            packed=packed,
            claims=claims,
            usage=usage,
            messages=messages,
            generated_text=text,
            notes=(*notes, *dropped),
        )
    return asked.answer(
        _kept_text(claims),
        claims,
        packed,
        model.model_ref,
        packed=packed,
        usage=usage,
        messages=messages,
        generated_text=text,
        notes=(*notes, *dropped),
    )


def _request(asked: Asked, messages: tuple[Message, ...]) -> GenerateRequest:
    llm = asked.config.models_llm
    return GenerateRequest(
        messages=messages,
        max_tokens=asked.config.rag.max_answer_tokens,
        temperature=llm.temperature if asked.request.temperature is None else asked.request.temperature,
        seed=llm.seed if asked.request.seed is None else asked.request.seed,
    )


def _stream(
    model: LanguageModel,
    request: GenerateRequest,
    packed: Sequence[Passage],
    on_event: OnEvent,
    stopped: Callable[[], bool],
) -> tuple[str, TokenUsage | None, bool]:
    """The generated text, its cost, and whether it came to its end; its pieces are handed out as they come."""
    markers = MarkerFilter([passage.number for passage in packed])
    parts: list[str] = []
    chars = 0
    usage: TokenUsage | None = None
    whole = True
    with closing(model.stream(request)) as stream:
        for item in stream:
            if isinstance(item, Done):
                usage = item.usage
                break
            if stopped() or chars > _MOST_CHARS:
                whole = False
                break
            parts.append(item.text)
            chars += len(item.text)
            shown = markers.feed(item.text)
            if shown:
                on_event(Generated(shown))
    rest = markers.end()
    if rest:
        on_event(Generated(rest))
    return "".join(parts), usage, whole


def _judge_of_nearness(asked: Asked, searching: Answering, db: Connection) -> Callable[[str, Sequence[Passage]], bool]:
    """Whether a sentence stands in one of some passages by its meaning; never where nothing is embedded."""
    source = None if asked.embedding is None else searching.vector_source(asked.result.query)

    def near_enough(sentence: str, passages: Sequence[Passage]) -> bool:
        if source is None:
            return False
        ids = json.dumps([passage.chunk_id for passage in passages])
        rows = queries.select_nearness(db, chunk_ids_json=ids, primary_vec=source.encode_text(sentence))
        return any(row.evidence >= LIKELY for row in rows)

    return near_enough


def _kept_text(claims: Sequence[Claim]) -> str:
    """The answer without what was dropped; a sentence's markers follow it, a run of sentences shares its last ones."""
    kept = [claim for claim in claims if claim.status != "dropped"]
    return " ".join(claim.text + show_markers(claim.passages) for claim in kept)
