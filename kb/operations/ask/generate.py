"""A model's answer: prompt → streamed tokens → each sentence checked → the sentences that pass, or a refusal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import NamedTuple

from kb.answer.checks import check_claims
from kb.answer.generated_text import MarkerFilter, ThoughtFilter, is_refusal, show_markers, without_thoughts
from kb.answer.prompt import build_prompt
from kb.answer.wording import judged_words, say, why
from kb.domain.answers import Answer, Claim, ClaimStatus, Generated, Written
from kb.domain.generation import Done, GenerateRequest, LanguageModel, Message, TokenUsage
from kb.domain.run_handle import RunHandle
from kb.domain.search import Passage
from kb.errors import ModelError
from kb.operations.ask.findings import Findings
from kb.operations.opening.base import ConnectedBase

# A longer text has gone astray, however few tokens it counts.
_MOST_CHARS = 200_000

# An answer takes at most this part of the context window, a quarter: the passages need the rest.
_ANSWER_SHARE = 4


class Generation(NamedTuple):
    """A model's answer. If `fault` is set, this error ended the generation, and the answer has the text before it.

    `unproven`: the model answered, but no sentence of it passed the checks.
    """

    answer: Answer
    fault: ModelError | None = None
    unproven: bool = False


class _Text(NamedTuple):
    """The text of a model. If it is not complete, `broke` says why, and `fault` is the error, if any."""

    text: str
    usage: TokenUsage
    broke: str | None = None
    fault: ModelError | None = None


def generate_answer(
    base: ConnectedBase, found: Findings, passages: tuple[Passage, ...], model: LanguageModel, handle: RunHandle
) -> Generation:
    """The checked answer of `model`; its text is streamed as it comes."""
    rag = found.config.rag
    try:
        answer_tokens = min(rag.max_answer_tokens, model.context_tokens // _ANSWER_SHARE)
        budget = min(found.context_tokens, model.context_tokens - answer_tokens)
        messages, packed = build_prompt(
            rag.prompt_template_version, found.request.question, found.language, passages, found.history, model, budget
        )
    except ModelError as fault:
        return Generation(found.refusal("llm_stream_aborted", Written(model.model_ref), notes=(fault.message,)), fault)
    made = _stream(model, _request(found, messages, answer_tokens), packed, handle)
    written = Written(model.model_ref, packed, messages, made.usage, made.text)
    if made.broke is not None:
        text = _shown_part(made.text, packed)
        return Generation(found.refusal("llm_stream_aborted", written, text=text, notes=(made.broke,)), made.fault)
    said = without_thoughts(made.text)
    claims: tuple[Claim, ...] = ()
    failed: tuple[str, ...] = ()
    if not is_refusal(said, packed):
        claims, failed = _checked(base, found, said, packed, model)
    statuses: tuple[ClaimStatus, ...] = ("dropped", "not_checked", "weak")
    notes = (*(note for status in statuses for note in _said_of(claims, status, found.language)), *failed)
    if not any(claim.status in ("supported", "not_checked") for claim in claims):
        refused = found.refusal("llm_self_judge", written, claims=claims, notes=notes)
        return Generation(refused, unproven=bool(claims))
    return Generation(found.answer(written, _kept_text(claims, found.language), claims, packed, notes))


def _checked(
    base: ConnectedBase, found: Findings, text: str, packed: tuple[Passage, ...], model: LanguageModel
) -> tuple[tuple[Claim, ...], tuple[str, ...]]:
    """The sentences of a text, checked by the rules and the claim judge, and notes, such as that the judge failed."""
    try:
        judge = None
        if found.config.rag.claim_judge != "none":
            from kb.operations.ask.claim_judge import claim_judge

            judge = claim_judge(found.config, base.models, model)
        return check_claims(text, found.search_text, packed, judge), ()
    except ModelError as error:
        return check_claims(text, found.search_text, packed), (
            say(found.language, "without_judge", why(found.language, error)),
        )


def _request(found: Findings, messages: tuple[Message, ...], answer_tokens: int) -> GenerateRequest:
    llm = found.config.models_llm
    return GenerateRequest(
        messages=messages,
        max_tokens=answer_tokens,
        temperature=llm.temperature if found.request.temperature is None else found.request.temperature,
        seed=llm.seed if found.request.seed is None else found.request.seed,
    )


def _stream(model: LanguageModel, request: GenerateRequest, packed: Sequence[Passage], handle: RunHandle) -> _Text:
    """Generates a text and streams its pieces as events. Returns the whole text as the model wrote it.

    The events leave out the model's thoughts and markers of passages that it was not given. Ctrl-C, or canceling the
    run, ends the text early, also before the first token.
    """
    shown_as = _Shown(packed)
    parts: list[str] = []
    chars = 0
    usage = TokenUsage(0, 0, 0)
    broke: str | None = None
    fault: ModelError | None = None
    try:
        with closing(model.stream(request)) as stream:
            for item in stream:
                if isinstance(item, Done):
                    usage = item.usage
                    break
                if handle.is_canceled():
                    raise KeyboardInterrupt
                if chars > _MOST_CHARS:
                    broke = f"the model's text had not ended after {_MOST_CHARS:,} characters"
                    break
                parts.append(item.text)
                chars += len(item.text)
                if shown := shown_as.feed(item.text):
                    handle.tell(Generated(shown))
    except KeyboardInterrupt:
        broke = "stopped before the end"
    except ModelError as error:
        broke, fault = error.message, error
    if rest := shown_as.end():
        handle.tell(Generated(rest))
    return _Text("".join(parts), usage, broke, fault)


class _Shown:
    """A stream as it is displayed: without the model's thoughts and markers of passages that it was not given."""

    def __init__(self, packed: Sequence[Passage]) -> None:
        self._thoughts = ThoughtFilter()
        self._markers = MarkerFilter([passage.number for passage in packed])

    def feed(self, piece: str) -> str:
        """The text that can be shown now."""
        return self._markers.feed(self._thoughts.feed(piece))

    def end(self) -> str:
        """The text that was held back when the stream ended."""
        return self._markers.feed(self._thoughts.end()) + self._markers.end()


def _shown_part(text: str, packed: Sequence[Passage]) -> str | None:
    """The text of an aborted answer as it was displayed; None if nothing was."""
    shown_as = _Shown(packed)
    return (shown_as.feed(text) + shown_as.end()).strip() or None


def _said_of(claims: Sequence[Claim], status: ClaimStatus, language: str) -> Iterator[str]:
    """A sentence on how many claims have a status, with the reason of the first one; empty if none has it."""
    found = [claim for claim in claims if claim.status == status]
    if found:
        first = f"“{found[0].text}”: {found[0].reason}"
        yield f"{judged_words(language, status, len(found), len(claims))}; {first}"


def _kept_text(claims: Sequence[Claim], language: str) -> str:
    """The sentences that were not dropped, each with its markers and, if it was not checked, a note."""
    marks: dict[ClaimStatus, str] = {"not_checked": f" ({say(language, 'not_checked')})"}
    kept = [claim for claim in claims if claim.status != "dropped"]
    return " ".join(claim.text + show_markers(claim.passages) + marks.get(claim.status, "") for claim in kept)
