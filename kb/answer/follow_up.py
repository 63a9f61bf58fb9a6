"""A question that leans on the one before it → a text that can be searched for by itself.

The rule, without a model: a question follows up where it points back (그건, 거기, it, they …) or has at most one
content word of its own; then what was searched for before stands in front of it. Where that finds no evidence, the
question is tried by itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kb.domain.answers.answer import Turn
from kb.domain.text import stored_text
from kb.language.stopwords import ENGLISH, korean

_POINTS_BACK = re.compile(
    r"(?:^|(?<=\s))(?:그|이|저)(?:것|거|건|게|걸|곳|때|분|들|럼|렇|런|중|외|밖|사람|회사|제품|방법|문서|값|날|해)"
    r"|(?:^|(?<=\s))(?:그(?=\s)|그녀|그는|그의|그가|거기|여기|저기|그럼|그러면|그래서|왜\?|앞의|위의|방금|아까)"
    r"|\b(?:it|its|that|those|these|this|they|them|their|he|him|his|she|her|there|then|former|latter|above|previous)\b"
    r"|^(?:and|but|so|what about|how about|why)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+")


def resolve(question: str, history: Sequence[Turn]) -> str:
    """What to search for: the question, behind what was searched for last where it follows up on that."""
    question = " ".join(stored_text(question).split())
    if not history or not follows_up(question):
        return question
    return f"{history[-1].search_query} {question}"


def follows_up(question: str) -> bool:
    """Whether a question cannot be understood without the one before it."""
    content = [w for w in _WORD.findall(question) if w.lower() not in ENGLISH and not korean().fullmatch(w)]
    return len(content) <= 1 or bool(_POINTS_BACK.search(question))
