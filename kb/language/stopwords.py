"""Words that say nothing of what is asked about: left out of a question, as long as another word remains."""

from __future__ import annotations

import re

from kb.language.lists import pattern, words


def english() -> frozenset[str]:
    """Words of an English question that say nothing of what is asked about, in lower case."""
    return words("stopwords", "english")


def korean() -> re.Pattern[str]:
    """Words of a Korean question that say nothing of what is asked about: what only asks or points back.

    With the particles and endings that may follow: 언제, 누구인가, 어디에서, 그럼, 그건.
    """
    return pattern("stopwords", "korean")
