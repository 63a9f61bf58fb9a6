"""A question answered in steps: its parts are searched for one by one, and answered from what all of them found.

with a model:  the question ─▶ its parts, a search each ─▶ what is still needed? a search ─▶ … ─▶ written, checked
without:       the question ─▶ its parts by rules, a search each ─▶ each part quoted, or refused by itself
"""

from __future__ import annotations

from contextlib import nullcontext

from kb.answer.deep.parts import Part, split_question
from kb.answer.deep.planning import next_messages, plan_messages, read_next, read_plan
from kb.answer.wording import (
    did_not_answer,
    kept_from_models,
    part_heading,
    quoted_instead,
    refusal_text,
    stopped_at,
    unsure_heading,
)
from kb.domain.answers.answer import Answer, Hop
from kb.domain.answers.generation import LanguageModel
from kb.domain.run_handle import RunHandle
from kb.errors import ModelError
from kb.operations.ask.findings import Findings, Written
from kb.operations.ask.generate import Generation, generate_answer
from kb.operations.ask.steps import Steps
from kb.operations.ask.write import EXTRACTIVE, noting, quote_found
from kb.operations.session.knowledge_base import KnowledgeBase

# What a model is shown of the sources when it is asked what is still needed.
_SHOWN_TOKENS = 2_000


def answer_deep(base: KnowledgeBase, whole: Findings, handle: RunHandle) -> tuple[Answer, ModelError | None]:
    """The answer or refusal with its steps, and what broke it off, if something did."""
    from kb.operations.ask.language_model import language_models

    steps = Steps(base, whole, handle)
    failed: tuple[Answer, ModelError | None] | None = None
    notes: tuple[str, ...] = ()
    for model in language_models(base.config, whole.request.provider, base.models):
        if model is None:
            return _finished(steps, noting(_quoted(steps), notes)), None
        turn = base.models.one_at_a_time("writing") if model.model_ref.provider == "llama_cpp" else nullcontext()
        with turn:
            made = _written(steps, model)
        if made is None:
            kept = kept_from_models(whole.language)
            return _finished(steps, noting(_quoted(steps), (*notes, kept))), None
        if made.unproven:
            return _finished(steps, noting(_quoted_instead(steps, made.answer), notes)), None
        failed = _finished(steps, noting(made.answer, notes)), made.fault
        if made.fault is None or made.answer.generated_text:
            break
        notes = (*notes, did_not_answer(whole.language, model.model_ref.id, made.fault))
    assert failed is not None
    return failed


def _finished(steps: Steps, answer: Answer) -> Answer:
    """The answer with its steps, and what the questions about them cost."""
    usage, asked = answer.usage, steps.usage
    spent = usage._replace(
        prompt_tokens=usage.prompt_tokens + asked.prompt_tokens,
        completion_tokens=usage.completion_tokens + asked.completion_tokens,
    )
    return answer._replace(hops=tuple(steps.hops), usage=spent)


def _written(steps: Steps, model: LanguageModel) -> Generation | None:
    """What a model writes of what all steps found; None where it may read nothing of that."""
    hidden = steps.base.hidden_from_models()
    whole = steps.whole
    try:
        _plan(steps, model)
        bound = _go_on(steps, model, hidden)
    except ModelError as fault:
        return Generation(whole.refusal("llm_stream_aborted", Written(model.model_ref), notes=(fault.message,)), fault)
    with_evidence = [found for found in steps.found if found.state != "refused"]
    if not with_evidence:
        return Generation(quote_found(steps.base, whole))
    passages = steps.passages(hidden)
    if not passages:
        return None
    about = with_evidence[0]._replace(
        request=whole.request, search_text=whole.search_text, history=() if hidden else whole.history
    )
    made = generate_answer(steps.base, about, passages, model, steps.handle)
    if made.fault is not None or made.answer.refusal_reason is not None:
        return made
    notes = made.answer.notes if bound is None else (*made.answer.notes, stopped_at(whole.language, bound))
    return Generation(_with_refused_parts(steps, made.answer._replace(notes=notes)))


def _plan(steps: Steps, model: LanguageModel) -> None:
    """Searches for the parts that a model sees in the question; where it names none, for those of the rules."""
    whole = steps.whole
    if len(steps.hops) > 1 or steps.bound() is not None:
        return None  # another model has planned before it failed
    question = whole.request.question
    planned = read_plan(steps.wrote(model, plan_messages(question, steps.left)), steps.left)
    if not planned:
        return _search_parts(steps, split_question(question))
    for text in planned:
        if steps.bound() is None and text.casefold() != question.casefold():
            steps.search(text, text, "planned")
    return None


def _go_on(steps: Steps, model: LanguageModel, hidden: frozenset[str]) -> str | None:
    """Searches for what a model still needs; which bound ended that, where one did."""
    asked = {hop.question.casefold() for hop in steps.hops}
    while True:
        bound = steps.bound()
        if bound is not None:
            return None if bound == "steps" and len(steps.hops) == 1 else bound
        passages = steps.passages(hidden)
        questions = [hop.question for hop in steps.hops]
        budget = min(_SHOWN_TOKENS, model.context_tokens // 2)
        needed = read_next(
            steps.wrote(model, next_messages(steps.whole.request.question, questions, passages, model, budget))
        )
        if needed is None or needed.casefold() in asked:
            return None
        asked.add(needed.casefold())
        steps.search(needed, needed, "needed")


def _with_refused_parts(steps: Steps, answer: Answer) -> Answer:
    """The answer, which says which parts have no evidence; kb is sure of it where it is sure of all of them."""
    parts = [hop for hop, _ in steps.wanted() if hop.why != "needed"]
    language = steps.whole.language
    missing = [f"{hop.question}\n{refusal_text('score_gate', language)}" for hop in parts if hop.state == "refused"]
    is_sure = answer.grounded and all(hop.state == "answered" for hop in parts)
    return answer._replace(text="\n\n".join((answer.text, *missing)), state="answered" if is_sure else "unsure")


def _search_parts(steps: Steps, parts: tuple[Part, ...]) -> None:
    for part in parts:
        if steps.bound() is None:
            steps.search(part.text, part.search_text, part.why)


def _quoted(steps: Steps) -> Answer:
    """The notes' own sentences on each part, or on the question where it is one, or is answered as a whole."""
    parts = split_question(steps.whole.request.question)
    is_answered = steps.whole.state == "answered" and all(part.why == "side" for part in parts)
    if len(steps.hops) == 1 and not is_answered:
        _search_parts(steps, parts)
    wanted = steps.wanted()
    made = _each_quoted(steps.base, wanted)
    if len(made) == 1 or all(answer.refusal_reason is not None for _, answer in made):
        return quote_found(steps.base, steps.whole)
    return _joined(steps, made)


def _each_quoted(base: KnowledgeBase, wanted: list[tuple[Hop, Findings]]) -> list[tuple[Hop, Answer]]:
    """Each step's answer, the markers counted on from one to the next."""
    made: list[tuple[Hop, Answer]] = []
    first = 1
    for hop, found in wanted:
        answer = quote_found(base, found._replace(first_number=first))
        made.append((hop, answer))
        if answer.refusal_reason is None:
            first += len(answer.citations)
    return made


def _joined(steps: Steps, made: list[tuple[Hop, Answer]]) -> Answer:
    """One answer of the parts' answers, each below its question; the refusal of one stands in its place."""
    whole, language = steps.whole, steps.whole.language
    given = [answer for _, answer in made if answer.refusal_reason is None]
    packed = {passage.chunk_id: passage for answer in reversed(given) for passage in answer.packed}
    text = "\n\n".join(_shown(language, place, hop, answer) for place, (hop, answer) in enumerate(made, 1))
    claims = tuple(claim for answer in given for claim in answer.claims)
    is_sure = all(answer.state == "answered" for _, answer in made)
    least = min((answer.evidence for answer in given if answer.evidence is not None), default=None)
    answer = whole.answer(Written(EXTRACTIVE, tuple(packed.values())), text, claims, ())
    return answer._replace(
        citations=tuple(each for answer in given for each in answer.citations),
        grounded=all(answer.grounded for answer in given),
        state="answered" if is_sure else "unsure",
        evidence=least,
        notes=tuple(dict.fromkeys(note for answer in given for note in answer.notes)),
    )


def _shown(language: str, place: int, hop: Hop, answer: Answer) -> str:
    perhaps = f"{unsure_heading(language)}\n" if answer.state == "unsure" else ""
    return f"{part_heading(place, hop.question)}\n{perhaps}{answer.text}"


def _quoted_instead(steps: Steps, unproven: Answer) -> Answer:
    """The notes' own sentences in the place of a model's, none of which its sources support; its text is kept."""
    answer = _quoted(steps)
    if answer.refusal_reason is not None:
        return noting(unproven, answer.notes)
    kept = answer._replace(messages=unproven.messages, generated_text=unproven.generated_text, usage=unproven.usage)
    return noting(kept, (quoted_instead(steps.whole.language, unproven.model.id),))
