"""What a language model is asked about the steps of a deep answer, and what is read of its replies.

A reply is taken for questions to search for, and for nothing else: whatever it holds, it is searched for in the notes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kb.answer.packing import pack
from kb.answer.prompt import filled, show_passage, template
from kb.answer.thoughts import without_thoughts
from kb.domain.answers.generation import LanguageModel, Message
from kb.domain.passages import Passage
from kb.domain.text import stored_text

MOST_REPLY_TOKENS = 300
"""What a reply may take; more is no list of questions."""

_LONGEST_CHARS = 300
_LIST_MARK = re.compile(r"^\s*(?:[-*•]|\(?\d{1,2}[.):])\s+")
_DONE = re.compile(r"\W*DONE\b", re.IGNORECASE)
_SAYS = re.compile(r"[^\W_]")


def plan_messages(question: str, most: int) -> tuple[Message, ...]:
    """The prompt that asks for the parts of a question, at most `most`."""
    system, user = template("plan-v1")
    return (
        Message("system", filled(system, most=str(most))),
        Message("user", filled(user, question=stored_text(question).strip())),
    )


def read_plan(reply: str, most: int) -> tuple[str, ...]:
    """The questions of a reply, each once; none where it is something else."""
    return tuple(dict.fromkeys(_questions(reply)))[:most]


def next_messages(
    question: str, asked: Sequence[str], passages: Sequence[Passage], model: LanguageModel, budget_tokens: int
) -> tuple[Message, ...]:
    """The prompt that asks what is still to be searched for; of the passages as many as the budget holds."""
    system, user = template("next-v1")
    bare = {"asked": "\n".join(f"- {each}" for each in asked), "question": stored_text(question).strip()}

    def messages(packed: Sequence[Passage]) -> tuple[Message, ...]:
        shown = "\n\n".join(map(show_passage, packed))
        return Message("system", system), Message("user", filled(user, passages=shown, **bare))

    left = budget_tokens - model.count_prompt_tokens(messages(()))
    return messages(pack(passages, left, lambda passage: model.count_tokens(show_passage(passage) + "\n\n")))


def read_next(reply: str) -> str | None:
    """The question of a reply; None where it says that nothing is needed, or asks nothing."""
    said = without_thoughts(reply)
    return None if _DONE.match(said) else next(iter(_questions(reply)), None)


def _questions(reply: str) -> list[str]:
    lines = (_LIST_MARK.sub("", line).strip().strip('"“”') for line in without_thoughts(reply).splitlines())
    said = (" ".join(stored_text(line).split()) for line in lines)
    return [line for line in said if _SAYS.search(line) and len(line) <= _LONGEST_CHARS and not line.endswith(":")]
