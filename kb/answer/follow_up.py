"""A question that leans on the one before it → a text that can be searched for by itself.

The rule, without a model: a question follows up where it points back (그건, 거기, it, they …) or has at most one
content word of its own; then what was searched for before is in front of it. Where that finds no evidence, the
question is tried by itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kb.domain.answers.answer import Turn
from kb.domain.text import stored_text
from kb.language.lists import is_stopword, pattern

_WORD = re.compile(r"[^\W_]+")


def resolve(question: str, history: Sequence[Turn]) -> str:
    """What to search for: the question, behind what was searched for last where it follows up on that."""
    question = " ".join(stored_text(question).split())
    if not history or not follows_up(question):
        return question
    return f"{history[-1].search_query} {question}"


def follows_up(question: str) -> bool:
    """Whether a question cannot be understood without the one before it."""
    content = [w for w in _WORD.findall(question) if not is_stopword(w)]
    return len(content) <= 1 or bool(pattern("follow_up", "points_back", re.IGNORECASE).search(question))
