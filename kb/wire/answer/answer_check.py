"""answer_check.v1: an answer compared with the files; one line of `kb verify --json`."""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from kb.domain.results.answers import AnswerCheck, QuoteCheck
from kb.wire.answer.answer import SecondVerdictV1, second_v1
from kb.wire.citation import CitationV1, citation_v1


class QuoteCheckV1(TypedDict):
    """One quotation: whether it stands where it was cited, and where it is now.

    `git_commit` and `now_git_commit` are there where the file's repository is at another commit than it was,
    `second` where a second judge was asked about the sentence, `now_text` where it changed and the like is there.
    """

    quote: str
    citation: CitationV1
    standing: Literal["stands", "moved", "changed", "missing", "unreadable"]
    now_at: CitationV1 | None
    git_commit: NotRequired[str]
    now_git_commit: NotRequired[str]
    second: NotRequired[SecondVerdictV1]
    now_text: NotRequired[str]


class AnswerCheckV1(TypedDict):
    """An answer with its quotations; `holds`: each of them still stands somewhere."""

    schema_version: Literal["answer_check.v1"]
    trace_id: str
    question: str
    holds: bool
    quotes: list[QuoteCheckV1]


def answer_check_v1(check: AnswerCheck) -> AnswerCheckV1:
    """The wire form of a check."""
    return {
        "schema_version": "answer_check.v1",
        "trace_id": check.trace_id,
        "question": check.question,
        "holds": check.holds,
        "quotes": [_quote(quote) for quote in check.quotes],
    }


def _quote(quote: QuoteCheck) -> QuoteCheckV1:
    found: QuoteCheckV1 = {
        "quote": quote.quote,
        "citation": citation_v1(quote.cited),
        "standing": quote.standing,
        "now_at": None if quote.now_at is None else citation_v1(quote.now_at),
    }
    if quote.commit is not None and quote.now_commit is not None:
        found["git_commit"], found["now_git_commit"] = quote.commit, quote.now_commit
    if quote.second is not None:
        found["second"] = second_v1(quote.second)
    if quote.now_text is not None:
        found["now_text"] = quote.now_text
    return found
