"""Results about stored answers: lists of answers and conversations, checks of quotations, calls by agents."""

from __future__ import annotations

import json
from typing import Annotated, Literal, NamedTuple

from kb.domain.answers import AnswerState, SecondVerdict, Turn
from kb.domain.citations import Citation
from kb.domain.on_wire import Wire, on_wire

Standing = Literal["stands", "moved", "changed", "missing", "unreadable"]


@on_wire(fields="quote citation=cited standing now_at git_commit=commit? now_git_commit=now_commit? second? now_text?")
class QuoteCheck(NamedTuple):
    """One quotation of an answer: whether its text is still where it was cited (`standing`), and where it is now
    (`now_at`).

    `commit` and `now_commit` (`git_commit`, `now_git_commit` in JSON) are set if the file's repository has moved to
    another commit since. `second` is the claim judge's verdict, if one was asked. `now_text` is set if the text has
    changed and a similar one was found.
    """

    quote: str
    cited: Citation
    standing: Standing
    now_at: Citation | None
    commit: str | None = None
    now_commit: str | None = None
    second: SecondVerdict | None = None
    now_text: str | None = None


@on_wire("answer_check.v1", fields="trace_id question holds quotes")
class AnswerCheck(NamedTuple):
    """A stored answer and a check of each of its quotations."""

    trace_id: str
    question: str
    quotes: tuple[QuoteCheck, ...]

    @property
    def holds(self) -> bool:
        """Whether every quotation is still somewhere in the files."""
        return all(quote.standing in ("stands", "moved") for quote in self.quotes)


@on_wire("answer_summary.v1")
class AnswerSummary(NamedTuple):
    """One stored answer, without its passages and prompt."""

    trace_id: str
    created_at: str
    query: str
    answer: str
    grounded: Annotated[int, Wire(type=bool, by=bool)]
    refusal_reason: str | None
    model_id: str
    model_provider: str
    conversation_id: str | None
    state: Annotated[str | None, Wire(type=AnswerState | None)]


@on_wire("chat_session.v1", title="ChatSessionV1")
class Conversation(NamedTuple):
    """A conversation; times are seconds since 1970. In a list, `turns` is empty and `turn_count` says how many there
    are.
    """

    session_id: str
    title: str | None
    turn_count: int
    created_at: int
    updated_at: int
    turns: tuple[Turn, ...] = ()


@on_wire("disclosure.v1")
class Disclosure(NamedTuple):
    """One call of a tool by an agent, and which places of the documents its result named.

    `client` is the agent's name as it reported it; `asked` is the request in words; `places_json` (`places` in JSON)
    lists the citations, paths or ids in the result. `tokens` is the size of the whole result; `outcome` is `given` or
    an error code.
    """

    disclosed_at: str
    client: str
    tool: str
    asked: str
    places_json: Annotated[str, Wire("places", list[str], json.loads)]
    tokens: int
    outcome: str
