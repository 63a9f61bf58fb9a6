"""One question with its search results, and the answer or refusal made from them."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.answer.judging import Judgement
from kb.answer.quoting import sentence_citation
from kb.answer.wording import say
from kb.config import Config
from kb.domain.answers import (
    Answer,
    AnswerCitation,
    AnswerState,
    Claim,
    EmbeddingRef,
    Evidence,
    RefusalReason,
    RetrievalSummary,
    Turn,
    Written,
)
from kb.domain.citations import CodeCitation, cited_as
from kb.domain.filters import SearchFilters
from kb.domain.generation import ModelRef
from kb.domain.search import Passage, SearchMode, SearchQuery, SearchResult, Sentence
from kb.language.detect import query_language
from kb.operations.opening.clock import now_utc

if TYPE_CHECKING:
    from kb.domain.code_hits import CodeFound, CodeHit

NEAREST_SHOWN = 3


class AskRequest(NamedTuple):
    """A question with its settings.

    `provider`, `temperature` and `seed` default to the configuration if None, `context_tokens` to the session's
    default. `depth` is the most searches of the answer. `history` are earlier turns of a conversation not stored.
    """

    question: str
    mode: SearchMode
    k: int
    filters: SearchFilters = SearchFilters()
    provider: str | None = None
    temperature: float | None = None
    seed: int | None = None
    session_id: str | None = None
    keep: bool = True
    context_tokens: int | None = None
    depth: int = 1
    history: tuple[Turn, ...] = ()


def request_for(query: SearchQuery) -> AskRequest:
    """A request to answer the question of a search, as configured; the sort order of the search is ignored."""
    return AskRequest(query.text, query.mode, query.k, query.filters)


NOTHING_WRITTEN = Written(ModelRef("none", "extractive"))


class Findings(NamedTuple):
    """A question with its search results. `started` is a time of the monotonic clock, in seconds.

    `passages` are the hits of `result` with their whole text, numbered from 1. `context_tokens` limits instructions,
    question and passages together, in the model's tokens. `code` is the source code to answer from, whose hits are then
    those of `result`; None for notes. `first_number` is the number of the first marker, above 1 after another answer.
    """

    request: AskRequest
    history: tuple[Turn, ...]
    search_text: str
    result: SearchResult
    embedding: EmbeddingRef | None
    config: Config
    started: float
    context_tokens: int
    passages: tuple[Passage, ...]
    judgement: Judgement | None = None
    code: CodeFound | None = None
    first_number: int = 1

    @property
    def evidence(self) -> Evidence | None:
        """How likely the findings answer the question; None without passages."""
        return None if self.judgement is None else self.judgement.evidence

    @property
    def sureness(self) -> tuple[AnswerState, str | None]:
        """Whether the findings suffice for a sure, an unsure or no answer, and the doubt that alone makes it unsure."""
        if self.judgement is None:
            return "refused", None
        return self.judgement.state(self.config.rag.score_gate, self.config.rag.answer_precision)

    @property
    def state(self) -> AnswerState:
        """The state of `sureness`."""
        return self.sureness[0]

    @property
    def language(self) -> str:
        """The language of the question as typed."""
        return query_language(self.request.question)

    def answer(
        self,
        written: Written,
        text: str,
        claims: tuple[Claim, ...],
        cited: Sequence[Passage],
        notes: tuple[str, ...] = (),
    ) -> Answer:
        """The answer with these claims about `cited` passages; a note states a doubt that alone makes it unsure."""
        _, doubt = self.sureness
        return self._made(written, text, claims, _citations(claims, cited), notes if doubt is None else (*notes, doubt))

    def refusal(
        self,
        reason: RefusalReason,
        written: Written = NOTHING_WRITTEN,
        *,
        claims: tuple[Claim, ...] = (),
        text: str | None = None,
        notes: tuple[str, ...] = (),
    ) -> Answer:
        """The refusal, with the nearest hits as candidates; `text` is the text so far of an aborted answer.

        If a judge has read hits, only those that it finds close to an answer become candidates.
        """
        said = {} if self.judgement is None else self.judgement.best_lines()
        near = None if self.judgement is None else self.judgement.near()
        hits = [hit for hit in self.result.hits if near is None or hit.chunk_id in near][:NEAREST_SHOWN]
        nearest = tuple(_candidate(hit, said.get(hit.chunk_id)) for hit in hits)
        return self._made(written, text or say(self.language, reason), claims, nearest, notes, reason)

    def _made(
        self,
        written: Written,
        text: str,
        claims: tuple[Claim, ...],
        citations: tuple[AnswerCitation, ...],
        notes: tuple[str, ...],
        reason: RefusalReason | None = None,
    ) -> Answer:
        request, hits = self.request, self.result.hits
        session = request.session_id
        grounded = reason is None and all(claim.status == "supported" for claim in claims if claim.status != "dropped")
        is_sure = grounded and self.state == "answered"
        return Answer(
            question=request.question,
            search_query=self.search_text,
            text=text,
            citations=citations,
            claims=claims,
            grounded=grounded,
            state="refused" if reason is not None else "answered" if is_sure else "unsure",
            refusal_reason=reason,
            retrieval=RetrievalSummary(
                "ret_" + os.urandom(6).hex(),
                self.result.query.mode,
                request.k,
                self.config.rag.score_gate,
                hits[0].score if hits else 0.0,
                len(hits),
                len(written.packed),
                self.result.index_version,
                self.result.ranking_version or None,
                self.embedding,
                self.evidence,
                hits,
            ),
            written=written._replace(
                usage=written.usage._replace(latency_ms=round((time.monotonic() - self.started) * 1000))
            ),
            prompt_template_version=self.config.rag.prompt_template_version,
            created_at=now_utc(),
            notes=notes if self.result.note is None else (self.result.note, *notes),
            conversation_id=session,
            turn_index=None if session is None else len(self.history),
        )


def settings_of(found: Findings) -> dict[str, object]:
    """The settings of an answer that are stored with it."""
    config, request = found.config, found.request
    llm = config.models_llm
    return {
        "provider": request.provider or llm.provider,
        "temperature": llm.temperature if request.temperature is None else request.temperature,
        "seed": llm.seed if request.seed is None else request.seed,
        "prompt_template_version": config.rag.prompt_template_version,
        "max_context_tokens": found.context_tokens,
        "max_answer_tokens": config.rag.max_answer_tokens,
        "score_gate": config.rag.score_gate,
        "mode": request.mode,
        "k": request.k,
        "depth": request.depth,
        "filters": request.filters._asdict(),
    }


def code_passage(number: int, hit: CodeHit) -> Passage:
    """A hit in source code as a passage of an answer: its chunk, cited by all lines of the chunk."""
    cited = hit.passage.citation
    if isinstance(cited, CodeCitation):
        last = hit.first_line + hit.passage.text.count("\n")
        cited = cited._replace(line_start=hit.first_line, line_end=last)
    return hit.passage._replace(number=number, cited=cited, lang="und")


def _citations(claims: Sequence[Claim], cited: Sequence[Passage]) -> tuple[AnswerCitation, ...]:
    """An entry for each cited passage, in the order of their numbers, with the first sentence that cites it."""
    kept = [claim for claim in claims if claim.status != "dropped"]
    used = {number for claim in kept for number in claim.passages}
    found = []
    for passage in sorted(cited, key=lambda passage: passage.number):
        if passage.number not in used:
            continue
        at = next((c for c in kept if c.passages[:1] == (passage.number,) and c.citation is not None), None)
        # Of quoted pieces the best one is the place; of several sentences of a model, the whole passage.
        is_piece = at is not None and at.quote == at.text and not isinstance(at.citation, CodeCitation)
        single = is_piece or sum(passage.number in claim.passages for claim in kept) == 1
        place = at.citation if at is not None and at.citation is not None and single else passage.citation
        found.append(
            AnswerCitation(
                f"[{passage.number}]",
                place,
                passage.chunk_id,
                cited_as(place, passage.heading_path, passage.title),
                passage.source_path,
                at.quote if at else None,
                passage.score,
                passage.commit,
            )
        )
    return tuple(found)


def _candidate(hit: Passage, said: tuple[Passage, Sentence] | None) -> AnswerCitation:
    cited, quote = hit.citation, None
    if said is not None:
        passage, line = said
        quote = line.text
        cited = sentence_citation(passage, line) if passage.is_cited_by_place else cited
    label = cited_as(cited, hit.heading_path, hit.title)
    return AnswerCitation(None, cited, hit.chunk_id, label, hit.source_path, quote, hit.score, hit.commit)
