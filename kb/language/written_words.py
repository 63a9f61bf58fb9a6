"""The words of a text as they are written: Latin words folded, Korean ones without the particle behind them.

They are what a question's unknown word is compared with. The lexical index cannot serve: it holds stems.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from kb.language.bare_words import bare_word, fold, is_syllable
from kb.language.spelling import MOST_LATIN_LETTERS, MOST_SYLLABLES, letters

# The letters of Latin script, without × and ÷.
_LATIN = "A-Za-zÀ-ÖØ-öø-ɏ"
_WORDS = re.compile(
    rf"(?<![0-9{_LATIN}])[{_LATIN}]{{3,{MOST_LATIN_LETTERS}}}+(?![0-9{_LATIN}])"
    rf"|(?<![가-힣])[가-힣]{{2,{MOST_SYLLABLES}}}+(?![가-힣])"
)

_PAIRS = re.compile(
    rf"(?<![가-힣])([가-힣]{{2,{MOST_SYLLABLES}}}) ?\(([{_LATIN}]{{3,{MOST_LATIN_LETTERS}}})\)"
    rf"|(?<![{_LATIN}])([{_LATIN}]{{3,{MOST_LATIN_LETTERS}}}) ?\(([가-힣]{{2,{MOST_SYLLABLES}}})\)"
)


def written_words(texts: Iterable[str]) -> list[str]:
    """The distinct words of the texts by their letters, sorted: Latin of three and more, Korean of two syllables."""
    found = {match for text in texts for match in _WORDS.findall(text)}
    return sorted({letters(bare_word(word)) if is_syllable(word[0]) else fold(word) for word in found})


def written_pairs(texts: Iterable[str]) -> list[tuple[str, str]]:
    """The words that texts give in both scripts, 도커(Docker) or Docker(도커): (Hangul, Latin) by letters."""
    found = set()
    for text in texts:
        for hangul, latin, latin_first, hangul_second in _PAIRS.findall(text):
            found.add((letters(bare_word(hangul or hangul_second)), fold(latin or latin_first)))
    return sorted(found)
