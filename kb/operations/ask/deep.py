"""Answers a question in steps: searches for each part, then answers from the results of all steps.

with a model:  the question ─▶ its parts, a search each ─▶ what is still needed? a search ─▶ … ─▶ written, checked
without:       the question ─▶ its parts by rules, a search each ─▶ each part quoted, or refused by itself
"""

from __future__ import annotations

from contextlib import closing
from time import monotonic

from kb.answer.prompt import MOST_REPLY_TOKENS, next_messages, plan_messages, read_next, read_plan
from kb.answer.questions import SubQuestion, split_question
from kb.answer.wording import say
from kb.domain.answers import Answer, Hop, HopPlace, HopReason, HopTaken, Written
from kb.domain.generation import Done, GenerateRequest, LanguageModel, Message, TokenUsage
from kb.domain.run_handle import RunHandle
from kb.domain.search import Passage
from kb.errors import ModelError
from kb.operations.ask.findings import Findings
from kb.operations.ask.generate import Generation, generate_answer
from kb.operations.ask.retrieve import retrieve
from kb.operations.ask.write import EXTRACTIVE, quote_found, write_or_quote
from kb.operations.opening.base import ConnectedBase

# How many places of a step's result are kept.
_PLACES_KEPT = 5


class Steps:
    """The questions searched so far, the whole question first, with their results."""

    def __init__(self, base: ConnectedBase, whole: Findings, handle: RunHandle) -> None:
        """`whole` are the findings of the whole question."""
        rag = whole.config.rag
        self.base = base
        self.whole = whole
        self.handle = handle
        self.hops: list[Hop] = []
        self.found: list[Findings] = []
        self.usage = TokenUsage(0, 0, 0)
        self._most = whole.request.depth
        self._most_tokens = rag.deep_tokens
        self._until = whole.started + rag.deep_seconds
        self._keep(whole.request.question, whole, "whole")

    @property
    def left(self) -> int:
        """How many more searches the answer may make."""
        return self._most - len(self.hops)

    def bound(self) -> str | None:
        """The limit that is reached, "steps", "time" or "tokens"; None if none is."""
        if self.left <= 0:
            return "steps"
        if monotonic() >= self._until:
            return "time"
        spent = self.usage.prompt_tokens + self.usage.completion_tokens
        return "tokens" if spent >= self._most_tokens else None

    def search(self, text: str, search_text: str, why: HopReason) -> None:
        """Searches for one more question. Raises: KeyboardInterrupt if the run is canceled."""
        if self.handle.is_canceled():
            raise KeyboardInterrupt
        asked = self.whole.request._replace(question=search_text)
        self._keep(text, retrieve(self.base, asked, self.whole.started), why)

    def wrote(self, model: LanguageModel, messages: tuple[Message, ...]) -> str:
        """The model's reply to a prompt about the steps. Raises: ModelError, KeyboardInterrupt."""
        llm, parts = self.whole.config.models_llm, list[str]()
        request = GenerateRequest(messages, MOST_REPLY_TOKENS, temperature=llm.temperature, seed=llm.seed)
        with closing(model.stream(request)) as stream:
            for item in stream:
                if self.handle.is_canceled():
                    raise KeyboardInterrupt
                if isinstance(item, Done):
                    self._count(item.usage)
                    break
                parts.append(item.text)
        return "".join(parts)

    def wanted(self) -> list[tuple[Hop, Findings]]:
        """The steps to answer from: those of the parts or, without parts, that of the whole question."""
        taken = list(zip(self.hops, self.found, strict=True))
        return taken[1:] or taken

    def passages(self, hidden: frozenset[str]) -> tuple[Passage, ...]:
        """The passages of the steps with evidence, numbered from 1: the best of each step, then the next of each."""
        each = [
            [passage for passage in found.passages if passage.doc_path not in hidden]
            for found in self.found
            if found.state != "refused"
        ]
        longest = max(map(len, each), default=0)
        in_turn = [passages[rank] for rank in range(longest) for passages in each if rank < len(passages)]
        once = {passage.chunk_id: passage for passage in reversed(in_turn)}
        order = dict.fromkeys(passage.chunk_id for passage in in_turn)
        return tuple(once[chunk]._replace(number=number) for number, chunk in enumerate(order, 1))

    def _keep(self, text: str, found: Findings, why: HopReason) -> None:
        places = tuple(
            HopPlace(hit.citation, hit.chunk_id, hit.title, hit.score) for hit in found.result.hits[:_PLACES_KEPT]
        )
        evidence = None if found.evidence is None else found.evidence.value
        state = "refused" if not found.result.hits else found.state
        hop = Hop(len(self.hops) + 1, text, found.search_text, why, state, evidence, places)
        self.hops.append(hop)
        self.found.append(found)
        self.handle.tell(HopTaken(hop))

    def _count(self, usage: TokenUsage) -> None:
        self.usage = TokenUsage(
            self.usage.prompt_tokens + usage.prompt_tokens, self.usage.completion_tokens + usage.completion_tokens, 0
        )


# How much of the sources a model sees when it is asked what is still needed.
_SHOWN_TOKENS = 2_000


def answer_deep(base: ConnectedBase, whole: Findings, handle: RunHandle) -> tuple[Answer, ModelError | None]:
    """The answer or refusal with its steps, and the error that ended the text of a model early, if any."""
    steps = Steps(base, whole, handle)
    answer, fault = write_or_quote(base, whole, lambda model: _written(steps, model), lambda: _quoted(steps))
    usage, asked = answer.written.usage, steps.usage  # the cost of the questions about the steps
    spent = usage._replace(
        prompt_tokens=usage.prompt_tokens + asked.prompt_tokens,
        completion_tokens=usage.completion_tokens + asked.completion_tokens,
    )
    return answer._replace(hops=tuple(steps.hops), written=answer.written._replace(usage=spent)), fault


def _written(steps: Steps, model: LanguageModel) -> Generation | None:
    """A model's text from the results of all steps; None if it may read none of their passages."""
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
    notes = made.answer.notes if bound is None else (*made.answer.notes, say(whole.language, f"bound {bound}"))
    return Generation(_with_refused_parts(steps, made.answer._replace(notes=notes)))


def _plan(steps: Steps, model: LanguageModel) -> None:
    """Searches for the parts of the question that a model names, or else for those that rules find."""
    whole = steps.whole
    if len(steps.hops) > 1 or steps.bound() is not None:
        return  # another model has planned before it failed
    question = whole.request.question
    planned = read_plan(steps.wrote(model, plan_messages(question, steps.left)), steps.left)
    if not planned:
        _search_parts(steps, split_question(question))
    for text in planned:
        if steps.bound() is None and text.casefold() != question.casefold():
            steps.search(text, text, "planned")


def _go_on(steps: Steps, model: LanguageModel, hidden: frozenset[str]) -> str | None:
    """Searches for what a model still needs; returns the limit that ended this, None if nothing is needed."""
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
    """The answer with a note on the parts without evidence; it is sure only if every part is."""
    parts = [hop for hop, _ in steps.wanted() if hop.why != "needed"]
    language = steps.whole.language
    missing = [f"{hop.question}\n{say(language, 'score_gate')}" for hop in parts if hop.state == "refused"]
    is_sure = answer.grounded and all(hop.state == "answered" for hop in parts)
    return answer._replace(text="\n\n".join((answer.text, *missing)), state="answered" if is_sure else "unsure")


def _search_parts(steps: Steps, parts: tuple[SubQuestion, ...]) -> None:
    for part in parts:
        if steps.bound() is None:
            steps.search(part.text, part.search_text, part.why)


def _quoted(steps: Steps) -> Answer:
    """Quoted sentences for each part; for the question itself if it has no parts or is answered as a whole."""
    parts = split_question(steps.whole.request.question)
    is_answered = steps.whole.state == "answered" and all(part.why == "side" for part in parts)
    if len(steps.hops) == 1 and not is_answered:
        _search_parts(steps, parts)
    wanted = steps.wanted()
    made = _each_quoted(steps.base, wanted)
    if len(made) == 1 or all(answer.refusal_reason is not None for _, answer in made):
        return quote_found(steps.base, steps.whole)
    return _joined(steps, made)


def _each_quoted(base: ConnectedBase, wanted: list[tuple[Hop, Findings]]) -> list[tuple[Hop, Answer]]:
    """The answer of each step, with markers numbered across all answers."""
    made: list[tuple[Hop, Answer]] = []
    first = 1
    for hop, found in wanted:
        answer = quote_found(base, found._replace(first_number=first))
        made.append((hop, answer))
        if answer.refusal_reason is None:
            first += len(answer.citations)
    return made


def _joined(steps: Steps, made: list[tuple[Hop, Answer]]) -> Answer:
    """One answer made of the answers or refusals of the parts, each below its question."""
    whole, language = steps.whole, steps.whole.language
    given = [answer for _, answer in made if answer.refusal_reason is None]
    packed = {passage.chunk_id: passage for answer in reversed(given) for passage in answer.written.packed}
    text = "\n\n".join(_shown(language, place, hop, answer) for place, (hop, answer) in enumerate(made, 1))
    claims = tuple(claim for answer in given for claim in answer.claims)
    is_sure = all(answer.state == "answered" for _, answer in made)
    least = min(filter(None, (answer.retrieval.evidence for answer in given)), default=None)
    answer = whole.answer(Written(EXTRACTIVE, tuple(packed.values())), text, claims, ())
    return answer._replace(
        citations=tuple(each for answer in given for each in answer.citations),
        grounded=all(answer.grounded for answer in given),
        state="answered" if is_sure else "unsure",
        retrieval=answer.retrieval._replace(evidence=least),
        notes=tuple(dict.fromkeys(note for answer in given for note in answer.notes)),
    )


def _shown(language: str, place: int, hop: Hop, answer: Answer) -> str:
    perhaps = f"{say(language, 'unsure')}\n" if answer.state == "unsure" else ""
    return f"{place}. {hop.question}\n{perhaps}{answer.text}"
