"""Answers: what was said, what each sentence stands on, and why nothing was said where that is so.

Tuples, not dataclasses: they lie on the path of a cold answer, where each class counts.
"""

from __future__ import annotations

from typing import Literal

from kb.domain.answers.generation import Message, ModelRef, TokenUsage
from kb.domain.citations import Citation
from kb.domain.passages import Passage
from kb.domain.search import SearchHit, SearchMode
from kb.records import NamedTuple

RefusalReason = Literal["score_gate", "llm_self_judge", "no_index", "no_chunks", "llm_stream_aborted"]

ClaimStatus = Literal["supported", "weak", "dropped"]
"""`supported`: what it says is in what it cites; `weak`: that could not be shown; `dropped`: it does not."""


Channel = Literal["late", "cosine", "lexical", "read", "own", "cross"]
"""By what the evidence of notes is judged: the best passage's tokens, its vector, or words alone; the others are of
answers that were kept before."""

JudgedBy = Channel | Literal["code"]
"""By what evidence is judged: a channel of notes, or what source code defines and says."""

AnswerState = Literal["answered", "unsure", "refused"]
"""`answered`: kb is sure of it; `unsure`: perhaps it is there; `refused`: nothing near was found."""


HopReason = Literal["whole", "part", "side", "planned", "needed"]
"""Why a step of an answer was taken: the question as it was asked; a part of it, by rules; one side of a comparison; a
part that a model asked for; what a model still needed after what was found."""


class Evidence(NamedTuple):
    """How likely the hits hold an answer: `value` in [0, 1], by the calibration `version` of `channel`.

    `lexical` is the share of the question's words in the best passage, `nearness` its score by meaning, and
    `lexical_margin` by how much its score is above that of others. `right` is how likely what is shown answers the
    question; None in answers that were kept before.
    """

    value: float
    channel: JudgedBy
    version: str
    lexical: float
    lexical_margin: float
    nearness: float | None
    right: float | None = None


class SecondVerdict(NamedTuple):
    """What a second judge said of a sentence, beside the rules; the stricter of both decided its status."""

    judge: str
    verdict: Literal["support", "contradiction", "unknown"]
    rules: Literal["support", "contradiction", "unknown"]


class Claim(NamedTuple):
    """A sentence of an answer, without its markers. `quote` is what it rests on, word for word, at `citation`.

    `passages` are the numbers it cites; `reason` says what failed where it is not supported; `second` is there where a
    second judge was asked.
    """

    text: str
    passages: tuple[int, ...]
    status: ClaimStatus
    quote: str | None = None
    citation: Citation | None = None
    reason: str | None = None
    second: SecondVerdict | None = None


class AnswerCitation(NamedTuple):
    """A place an answer points at. `marker` is `[1]`, or None for a candidate of a refusal; `score` is the hit's.

    `commit`: that of the repository that source code was of.
    """

    marker: str | None
    citation: Citation
    chunk_id: str
    label: str
    source_path: str
    quote: str | None
    score: float
    commit: str | None = None


class RetrievalSummary(NamedTuple):
    """How the passages were found. `chunks_used` of the `chunks_returned` hits were given to the answerer."""

    trace_id: str
    mode: SearchMode
    k: int
    score_gate: float
    top_score: float
    chunks_returned: int
    chunks_used: int


class EmbeddingRef(NamedTuple):
    """The model that searched by meaning, and what computed the question's vector with it."""

    id: str
    dimensions: int
    provider: str


class HopPlace(NamedTuple):
    """A passage that a step found."""

    citation: Citation
    chunk_id: str
    title: str
    score: float


class Hop(NamedTuple):
    """One step of a deep answer: what was asked and searched for, why, and what came of it.

    `state` is what was found would be enough for; `evidence` how likely it holds an answer.
    """

    number: int
    question: str
    search_query: str
    why: HopReason
    state: AnswerState
    evidence: float | None
    places: tuple[HopPlace, ...]


class Answer(NamedTuple):
    """One answer or refusal, with all that went into it; `text` carries the markers.

    `grounded` is True only where every sentence is supported by what it cites.
    """

    question: str
    search_query: str
    text: str
    citations: tuple[AnswerCitation, ...]
    claims: tuple[Claim, ...]
    grounded: bool
    refusal_reason: RefusalReason | None
    model: ModelRef
    embedding: EmbeddingRef | None
    prompt_template_version: str
    retrieval: RetrievalSummary
    evidence: Evidence | None
    usage: TokenUsage
    created_at: str
    index_version: str
    ranking_version: str | None
    hits: tuple[SearchHit, ...] = ()
    packed: tuple[Passage, ...] = ()
    messages: tuple[Message, ...] = ()
    generated_text: str | None = None
    notes: tuple[str, ...] = ()
    conversation_id: str | None = None
    turn_index: int | None = None
    state: AnswerState = "refused"
    hops: tuple[Hop, ...] = ()


class Turn(NamedTuple):
    """One turn of a conversation. `search_query` is what was searched for: the question, resolved."""

    turn_index: int
    question: str
    answer: str
    search_query: str
