"""Answers: their sentences and sources, the reason of a refusal, and the events while one is made.

Tuples, not dataclasses: they are on the path of a cold answer, where each class counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple, Protocol

from kb.domain.citations import Citation
from kb.domain.generation import Message, ModelRef, TokenUsage
from kb.domain.on_wire import Wire, on_wire
from kb.domain.search import Passage, SearchMode, SearchResult, Sentence

RefusalReason = Literal["score_gate", "llm_self_judge", "no_index", "no_chunks", "llm_stream_aborted"]

Verdict = Literal["support", "contradiction", "unknown"]
"""What sources say of a sentence."""

ClaimStatus = Literal["supported", "not_checked", "weak", "dropped"]
"""`supported`: the source says so; `dropped`: the source says otherwise, so the sentence is left out; `not_checked`: by
the exact rules, neither; `weak`: a claim judge was asked and could not tell, or an older kb could not."""

Channel = Literal["late", "cosine", "lexical", "read", "own", "cross"]
"""What judges evidence from notes: a judge that reads the best passage, or words alone; the others occur in older
answers only."""

JudgedBy = Channel | Literal["code"]
"""The signal that judges evidence: a channel of notes, or the definitions and text of source code."""

AnswerState = Literal["answered", "unsure", "refused"]
"""`answered`: kb is sure of it; `unsure`: perhaps it is there; `refused`: nothing near was found."""

HopReason = Literal["whole", "part", "side", "planned", "needed"]


class Evidence(NamedTuple):
    """How likely the passages contain an answer: `value` is what the gate compared; the rest explains it."""

    # `value` in [0, 1] by the calibration `version` of `channel`. `lexical` is the share of the question's words in the
    # best passage, `nearness` its score by meaning, and `lexical_margin` by how much its score is above that of others.
    # `right` is how likely the shown text answers the question; None in older answers.
    value: float
    channel: Annotated[JudgedBy, Wire(type=Literal["late", "cosine", "lexical", "code", "own", "cross", "read"])]
    version: Annotated[str, Wire("calibration")]
    lexical: float
    lexical_margin: float
    nearness: float | None
    right: float | None = None


class PassageReading(NamedTuple):
    """A judge's logits for a passage and a question: `score` that the passage answers, and one for each sentence."""

    score: float
    sentences: tuple[float, ...]


class PassageJudge(Protocol):
    """A model that reads a question and a passage together."""

    def read(self, question: str, passage: Passage, sentences: Sequence[Sentence]) -> PassageReading:
        """Reads a passage under its headings, and scores these sentences of it. Raises: ModelError."""


class SecondVerdict(NamedTuple):
    """A claim judge's verdict on a sentence: it decides unless the rules find a contradiction."""

    judge: str
    verdict: Verdict
    rules: Verdict


class ClaimJudge(Protocol):
    """A model that judges whether sources support a sentence."""

    @property
    def label(self) -> str:
        """The label stored with the judge's verdicts: who runs the model, its name and version."""

    def judge(self, claim: str, sources: Sequence[str]) -> Verdict:
        """Judges a sentence by the texts of the passages that it cites (at least one). Raises: ModelError."""


def _markers(passages: tuple[int, ...]) -> list[str]:
    return [f"[{number}]" for number in passages]


@on_wire(fields="text passages status quote citation reason second?")
class Claim(NamedTuple):
    """A sentence of the answer and its sources. A sentence with the status `dropped` is not part of the answer's text.

    `second` is the verdict of the claim judge (`rag.claim_judge`), None if none was asked.
    """

    # `text` is without its markers, `passages` the numbers it cites; `quote` is word for word at `citation`; `reason`
    # says what failed where it is not supported.
    text: str
    passages: Annotated[tuple[int, ...], Wire("markers", list[str], _markers)]
    status: ClaimStatus
    quote: str | None = None
    citation: Citation | None = None
    reason: str | None = None
    second: SecondVerdict | None = None


@on_wire(fields="marker citation chunk_id label quote score git_commit=commit?")
class AnswerCitation(NamedTuple):
    """A place that an answer cites. `quote` is the cited text, verbatim; `marker` is None for a candidate of a refusal.

    `commit` (`git_commit` in JSON) is the commit of the source file's git repository when it was indexed, else None.
    """

    marker: str | None
    citation: Citation
    chunk_id: str
    label: str
    source_path: str
    quote: str | None
    score: float
    commit: str | None = None


@on_wire(title="EmbeddingV1", fields="id provider dimensions")
class EmbeddingRef(NamedTuple):
    """The model that searched by meaning. `provider` is the program that computed the question's vector, `unknown` in
    answers of older versions of kb.
    """

    id: str
    dimensions: int = 0
    provider: str = "unknown"


@on_wire(title="AnswerRetrievalV1", fields="trace_id mode k score_gate top_score chunks_returned chunks_used")
class RetrievalSummary(NamedTuple):
    """How the search found an answer's passages."""

    # `chunks_used` of the `chunks_returned` hits were given to the answerer. `hits` are not stored.

    trace_id: str
    mode: SearchMode
    k: int
    score_gate: float
    top_score: float
    chunks_returned: int
    chunks_used: int
    index_version: str
    ranking_version: str | None = None
    embedding: EmbeddingRef | None = None
    evidence: Evidence | None = None
    hits: tuple[Passage, ...] = ()


class Written(NamedTuple):
    """What answered: the model, its input, and its output before the checks."""

    model: ModelRef
    packed: tuple[Passage, ...] = ()
    messages: tuple[Message, ...] = ()
    usage: TokenUsage = TokenUsage()
    generated_text: str | None = None


class HopPlace(NamedTuple):
    """A passage that one step of a deep answer found."""

    citation: Citation
    chunk_id: str
    title: str
    score: float


class Hop(NamedTuple):
    """One step of a deep answer; `state` says whether the evidence of this step is enough.

    `why` is the reason of the step: it asks the `whole` question; a `part` of it or one `side` of a comparison, by
    rules; a part that a model `planned`; or what a model still `needed` after the steps before.
    """

    number: int
    question: str
    search_query: str
    why: HopReason
    state: AnswerState
    evidence: float | None
    places: tuple[HopPlace, ...]


SpanKind = Literal["piece", "claim", "marker", "beside", "plain"]
"""`piece`: quoted, and answers; `claim`: a model's sentence; `beside`: quoted around a piece; `plain`: said by kb or a
model."""

SpanForm = Literal["prose", "code", "table"]


@on_wire(fields="kind form text claim?")
class Span(NamedTuple):
    """A part of the answer's text shown in one style; `claim` is the index of its sentence in `claims`, from 0."""

    kind: SpanKind
    form: SpanForm
    text: str
    claim: int | None = None


@on_wire(
    "answer.v1",
    fields="""question search_query answer=text citations claims grounded state refusal_reason
        evidence=retrieval.evidence model=written.model embedding=retrieval.embedding prompt_template_version retrieval
        usage=written.usage notes conversation_id turn_index created_at index_version=retrieval.index_version
        ranking_version=retrieval.ranking_version hops? spans? why?""",
)
class Answer(NamedTuple):
    """An answer, or a refusal where `refusal_reason` is set. `grounded`: what each sentence cites supports it.

    `state` says whether kb is sure of it: `answered` (enough for `rag.answer_precision`), `unsure`, or `refused`.
    """

    # `text` carries the markers; `spans` are its parts, `why` is a sentence on why kb is sure or not. Both follow from
    # the rest and are not stored (`kb.answer.spans`).
    question: str
    search_query: str
    text: str
    citations: tuple[AnswerCitation, ...]
    claims: tuple[Claim, ...]
    grounded: bool
    state: AnswerState
    retrieval: RetrievalSummary
    written: Written
    prompt_template_version: str
    created_at: str
    refusal_reason: RefusalReason | None = None
    notes: tuple[str, ...] = ()
    conversation_id: str | None = None
    turn_index: int | None = None
    hops: tuple[Hop, ...] = ()
    spans: tuple[Span, ...] = ()
    why: str | None = None


class Turn(NamedTuple):
    """One turn of a conversation. `search_query` is the text that was searched: the question with its references
    resolved.
    """

    turn_index: int
    question: str
    answer: str
    search_query: str


@on_wire("answer_event.v1", fields="kind hits=result.hits evidence score_gate")
class Retrieved(NamedTuple):
    """The event that the passages are found; an answer follows if the evidence reaches the gate."""

    result: SearchResult
    evidence: Evidence | None
    score_gate: float

    @property
    def kind(self) -> Literal["retrieved"]:
        """Its name on the wire."""
        return "retrieved"


@on_wire("answer_event.v1", title="TokenV1", fields="kind text")
class Generated(NamedTuple):
    """The event of the next piece of generated text, before its sentences are checked."""

    # With markers of given passages only.

    text: str

    @property
    def kind(self) -> Literal["token"]:
        """Its name on the wire."""
        return "token"


@on_wire("answer_event.v1", fields="kind hop")
class HopTaken(NamedTuple):
    """The event that one step of a deep answer is done."""

    hop: Hop

    @property
    def kind(self) -> Literal["hop"]:
        """Its name on the wire."""
        return "hop"


AskEvent = Retrieved | Generated | HopTaken
