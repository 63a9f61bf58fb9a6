"""answer.v1: an answer or refusal; what `kb ask --json` and `kb answers show --json` print."""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from kb.domain.answers.answer import Answer, AnswerCitation, Claim, Evidence, Hop, SecondVerdict
from kb.wire.citation import CitationV1, citation_v1


class AnswerCitationV1(TypedDict):
    """A place the answer points at. `marker` is null for a candidate of a refusal; `quote` is there verbatim.

    `git_commit` is there for source code of a git repository: what that was at.
    """

    marker: str | None
    citation: CitationV1
    chunk_id: str
    label: str
    quote: str | None
    score: float
    git_commit: NotRequired[str]


class SecondVerdictV1(TypedDict):
    """What a second judge said of a sentence, beside the rules; the stricter of both decided its status."""

    judge: str
    verdict: Literal["support", "contradiction", "unknown"]
    rules: Literal["support", "contradiction", "unknown"]


class ClaimV1(TypedDict):
    """A sentence of the answer and what it rests on; `dropped` ones are not part of `answer`.

    `second` is there where a second judge was asked (`rag.claim_judge`).
    """

    text: str
    markers: list[str]
    status: Literal["supported", "weak", "dropped"]
    quote: str | None
    citation: CitationV1 | None
    reason: str | None
    second: NotRequired[SecondVerdictV1]


class ModelV1(TypedDict):
    """Which model answered, and who ran it."""

    id: str
    provider: str


class EmbeddingV1(TypedDict):
    """The model that searched by meaning; `provider` is what computed the question's vector, `unknown` where an older
    kb did not keep it."""

    id: str
    provider: str
    dimensions: int


class EvidenceV1(TypedDict):
    """How likely the passages hold an answer: `value` is what the gate compared; the rest says how it came about."""

    value: float
    channel: Literal["late", "cosine", "lexical", "code", "own", "cross", "read"]
    calibration: str
    lexical: float
    lexical_margin: float
    nearness: float | None
    right: float | None


class AnswerRetrievalV1(TypedDict):
    """How the passages were found."""

    trace_id: str
    mode: Literal["lexical", "vector", "hybrid"]
    k: int
    score_gate: float
    top_score: float
    chunks_returned: int
    chunks_used: int


class UsageV1(TypedDict):
    """What the answer cost; `latency_ms` counts from the question to its end."""

    prompt_tokens: int
    completion_tokens: int
    latency_ms: int


class HopPlaceV1(TypedDict):
    """A passage that a step found."""

    citation: CitationV1
    chunk_id: str
    title: str
    score: float


class HopV1(TypedDict):
    """One step of a deep answer; `state` is what its evidence is enough for.

    `why`: the `whole` question; by rules a `part` of it, or one `side` of a comparison; a part that a model `planned`,
    or what it still `needed` after what was found.
    """

    number: int
    question: str
    search_query: str
    why: Literal["whole", "part", "side", "planned", "needed"]
    state: Literal["answered", "unsure", "refused"]
    evidence: float | None
    places: list[HopPlaceV1]


class AnswerV1(TypedDict):
    """An answer, or a refusal where `refusal_reason` is set. `grounded`: what each sentence cites supports it.

    `state` says whether kb is sure of it: `answered` (enough for `rag.answer_precision`), `unsure`, or `refused`.
    """

    schema_version: Literal["answer.v1"]
    question: str
    search_query: str
    answer: str
    citations: list[AnswerCitationV1]
    claims: list[ClaimV1]
    grounded: bool
    state: Literal["answered", "unsure", "refused"]
    refusal_reason: Literal["score_gate", "llm_self_judge", "no_index", "no_chunks", "llm_stream_aborted"] | None
    evidence: EvidenceV1 | None
    model: ModelV1
    embedding: EmbeddingV1 | None
    prompt_template_version: str
    retrieval: AnswerRetrievalV1
    usage: UsageV1
    notes: list[str]
    conversation_id: str | None
    turn_index: int | None
    created_at: str
    index_version: str
    ranking_version: str | None
    hops: NotRequired[list[HopV1]]


def answer_v1(answer: Answer) -> AnswerV1:
    """The wire form of an answer; one that was made in a single step has no `hops`."""
    embedding = answer.embedding
    retrieval = answer.retrieval
    made: AnswerV1 = {
        "schema_version": "answer.v1",
        "question": answer.question,
        "search_query": answer.search_query,
        "answer": answer.text,
        "citations": [_citation(each) for each in answer.citations],
        "claims": [_claim(each) for each in answer.claims],
        "grounded": answer.grounded,
        "state": answer.state,
        "refusal_reason": answer.refusal_reason,
        "evidence": None if answer.evidence is None else evidence_v1(answer.evidence),
        "model": {"id": answer.model.id, "provider": answer.model.provider},
        "embedding": None
        if embedding is None
        else {"id": embedding.id, "provider": embedding.provider, "dimensions": embedding.dimensions},
        "prompt_template_version": answer.prompt_template_version,
        "retrieval": {
            "trace_id": retrieval.trace_id,
            "mode": retrieval.mode,
            "k": retrieval.k,
            "score_gate": retrieval.score_gate,
            "top_score": retrieval.top_score,
            "chunks_returned": retrieval.chunks_returned,
            "chunks_used": retrieval.chunks_used,
        },
        "usage": {
            "prompt_tokens": answer.usage.prompt_tokens,
            "completion_tokens": answer.usage.completion_tokens,
            "latency_ms": answer.usage.latency_ms,
        },
        "notes": list(answer.notes),
        "conversation_id": answer.conversation_id,
        "turn_index": answer.turn_index,
        "created_at": answer.created_at,
        "index_version": answer.index_version,
        "ranking_version": answer.ranking_version,
    }
    if answer.hops:
        made["hops"] = [hop_v1(hop) for hop in answer.hops]
    return made


def hop_v1(hop: Hop) -> HopV1:
    """The wire form of a step."""
    return {
        "number": hop.number,
        "question": hop.question,
        "search_query": hop.search_query,
        "why": hop.why,
        "state": hop.state,
        "evidence": hop.evidence,
        "places": [
            {
                "citation": citation_v1(place.citation),
                "chunk_id": place.chunk_id,
                "title": place.title,
                "score": place.score,
            }
            for place in hop.places
        ],
    }


def evidence_v1(evidence: Evidence) -> EvidenceV1:
    """The wire form of an evidence."""
    return {
        "value": evidence.value,
        "channel": evidence.channel,
        "calibration": evidence.version,
        "lexical": evidence.lexical,
        "lexical_margin": evidence.lexical_margin,
        "nearness": evidence.nearness,
        "right": evidence.right,
    }


def _citation(each: AnswerCitation) -> AnswerCitationV1:
    found: AnswerCitationV1 = {
        "marker": each.marker,
        "citation": citation_v1(each.citation),
        "chunk_id": each.chunk_id,
        "label": each.label,
        "quote": each.quote,
        "score": each.score,
    }
    if each.commit is not None:
        found["git_commit"] = each.commit
    return found


def _claim(claim: Claim) -> ClaimV1:
    said: ClaimV1 = {
        "text": claim.text,
        "markers": [f"[{number}]" for number in claim.passages],
        "status": claim.status,
        "quote": claim.quote,
        "citation": None if claim.citation is None else citation_v1(claim.citation),
        "reason": claim.reason,
    }
    if claim.second is not None:
        said["second"] = second_v1(claim.second)
    return said


def second_v1(second: SecondVerdict) -> SecondVerdictV1:
    """The wire form of what a second judge said."""
    return {"judge": second.judge, "verdict": second.verdict, "rules": second.rules}
