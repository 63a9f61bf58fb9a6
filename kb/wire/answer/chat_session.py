"""chat_session.v1: a conversation; what `kb sessions show --json` prints, and `list` a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from typing_extensions import TypedDict

from kb.domain.answers.answer import Turn
from kb.domain.results.answers import SessionRow


class TurnV1(TypedDict):
    """One turn. `search_query` is what was searched for: the question, resolved."""

    turn_index: int
    question: str
    answer: str
    search_query: str


class ChatSessionV1(TypedDict):
    """A conversation; times in seconds since 1970. A list leaves `turns` empty and says their number."""

    schema_version: Literal["chat_session.v1"]
    session_id: str
    title: str | None
    turn_count: int
    created_at: int
    updated_at: int
    turns: list[TurnV1]


def chat_session_v1(session: SessionRow, turns: Sequence[Turn]) -> ChatSessionV1:
    """The wire form of a conversation."""
    return {
        "schema_version": "chat_session.v1",
        "session_id": session.session_id,
        "title": session.title,
        "turn_count": session.turns,
        "created_at": session.created_at,
        "updated_at": session.updated_at,
        "turns": [
            {
                "turn_index": turn.turn_index,
                "question": turn.question,
                "answer": turn.answer,
                "search_query": turn.search_query,
            }
            for turn in turns
        ],
    }
