"""The steps of a deep answer: each a search, told and kept, within the bounds of steps, time and tokens."""

from __future__ import annotations

from contextlib import closing
from time import monotonic

from kb.answer.deep.planning import MOST_REPLY_TOKENS
from kb.domain.answers.answer import Hop, HopPlace, HopReason
from kb.domain.answers.answer_events import HopTaken
from kb.domain.answers.generation import Done, GenerateRequest, LanguageModel, Message, TokenUsage
from kb.domain.passages import Passage
from kb.domain.run_handle import RunHandle
from kb.operations.ask.findings import Findings
from kb.operations.ask.retrieve import retrieve
from kb.operations.session.knowledge_base import KnowledgeBase

# Of what a step found, so many places are kept.
_PLACES_KEPT = 5


class Steps:
    """What was asked so far, the whole question first, and what was found."""

    def __init__(self, base: KnowledgeBase, whole: Findings, handle: RunHandle) -> None:
        """`whole` is what was found for the question as it was asked."""
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
        """How many steps may still be taken."""
        return self._most - len(self.hops)

    def bound(self) -> str | None:
        """Which bound keeps it from going on: "steps", "time" or "tokens"; None where none does."""
        if self.left <= 0:
            return "steps"
        if monotonic() >= self._until:
            return "time"
        spent = self.usage.prompt_tokens + self.usage.completion_tokens
        return "tokens" if spent >= self._most_tokens else None

    def search(self, text: str, search_text: str, why: HopReason) -> None:
        """Takes one step. Raises: KeyboardInterrupt where the answer is to stop."""
        if self.handle.is_canceled():
            raise KeyboardInterrupt
        asked = self.whole.request._replace(question=search_text)
        self._keep(text, retrieve(self.base, asked, self.whole.started), why)

    def wrote(self, model: LanguageModel, messages: tuple[Message, ...]) -> str:
        """What a model replies to a question about the steps. Raises: ModelError, KeyboardInterrupt."""
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
        """The steps that an answer is to be made of: the parts, or the question alone where it has none."""
        taken = list(zip(self.hops, self.found, strict=True))
        return taken[1:] or taken

    def passages(self, hidden: frozenset[str]) -> tuple[Passage, ...]:
        """What the steps found that have evidence, numbered from 1: the best of each, then the next of each."""
        each = [
            [passage for passage in found.passages(self.base.db) if passage.doc_path not in hidden]
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
