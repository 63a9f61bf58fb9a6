"""The term that a question wants defined: what is X, what does X mean; X이란, X가 뭐야."""

from __future__ import annotations

import re

from kb.language.lists import pattern, words

_LIST = "definitions"
_MOST_CHARS = 100
_ARTICLE = re.compile(r"(?i)(?:an?|the)\s+")
_NO_WORD = re.compile(r"(?:[^\w+#]|_)+")


def defined_term(question: str) -> str | None:
    """The term; None if the question asks for something else, also if that is the name or the number of a thing.

    White space must be single spaces.
    """
    if len(question) > _MOST_CHARS or not any(map(question.lower().__contains__, words(_LIST, "asking"))):
        return None  # the expressions take milliseconds to compile
    for language in ("english", "korean"):
        match = pattern(_LIST, language, re.IGNORECASE).fullmatch(question)
        if match is not None:
            term = next(group for group in match.groups() if group).strip("\"'“”‘’`* ")
            return None if pattern(_LIST, "attribute").search(term) else term
    return None


def folded_name(term: str) -> str:
    """A term or heading for comparison: lower case, without an article, marks and spaces. C++ and C# are not C."""
    return _NO_WORD.sub("", _ARTICLE.sub("", term.strip(), count=1)).lower()
