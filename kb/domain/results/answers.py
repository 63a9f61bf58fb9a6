"""Results about kept answers: lists of them and of conversations, and how their quotations fare."""

from __future__ import annotations

from typing import Literal

from kb.domain.answers.answer import SecondVerdict
from kb.domain.citations import Citation
from kb.records import NamedTuple

Standing = Literal["stands", "moved", "changed", "missing", "unreadable"]


class QuoteCheck(NamedTuple):
    """One quotation of an answer and how it fares; `now_at` is where it is now, if anywhere.

    `commit` is what the repository of its file was at, `now_commit` what it is at, where that is another; `second` is
    what a second judge said of the sentence that rests on it; `now_text` what is there in place of one that changed.
    """

    quote: str
    cited: Citation
    standing: Standing
    now_at: Citation | None
    commit: str | None = None
    now_commit: str | None = None
    second: SecondVerdict | None = None
    now_text: str | None = None


class AnswerCheck(NamedTuple):
    """An answer with its quotations."""

    trace_id: str
    question: str
    quotes: tuple[QuoteCheck, ...]

    @property
    def holds(self) -> bool:
        """Whether every quotation still stands somewhere."""
        return all(quote.standing in ("stands", "moved") for quote in self.quotes)


class AnswerSummary(NamedTuple):
    """One answer in a list."""

    trace_id: str
    created_at: str
    query: str
    answer: str
    grounded: int
    refusal_reason: str | None
    model_id: str
    model_provider: str
    conversation_id: str | None
    state: str | None


class SessionRow(NamedTuple):
    """One conversation in a list."""

    session_id: str
    title: str | None
    turns: int
    created_at: int
    updated_at: int
