"""Text that stands in a picture, as on a label or a sign: found in a reduced copy, then read where it stands.

A look for words anywhere takes textures for letters too, but without confidence: what counts are whole words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

from kb.extract.ocr.geometry import Rectangle

if TYPE_CHECKING:
    from kb.extract.ocr.tesseract import Line, Word

SURE_CONFIDENCE = 0.8
_LEAST_LETTERS = 8

# A Hangul syllable is a word of its own to tesseract; of other letters, three are hardly ever read into a texture.
_WHOLE_WORD = re.compile("[가-힣]|[^\\W_]{3}")
_LETTER = re.compile("[^\\W_]")

# In heights of a line: how much around its sure words is read with them.
_REACH = 0.4


def label_areas(lines: Sequence[Line], size: tuple[int, int]) -> list[Rectangle]:
    """Where lines of labels stand in a picture of `size`, topmost first; none where too little is read for sure."""
    sure_words = ([word for word in line.words if _is_sure(word)] for line in lines)
    found = [words for words in sure_words if any(map(_is_whole, words))]
    letters = sum(len(_LETTER.findall(word.text)) for words in found for word in words if _is_whole(word))
    if letters < _LEAST_LETTERS:
        return []
    return sorted((_around(words, size) for words in found), key=lambda area: (area.top, area.left))


def _is_sure(word: Word) -> bool:
    return word.confidence >= SURE_CONFIDENCE


def _is_whole(word: Word) -> bool:
    return _WHOLE_WORD.search(word.text) is not None


def _around(words: Sequence[Word], size: tuple[int, int]) -> Rectangle:
    """From the first to the last of the words of a line, as tall as most of them."""
    reach = round(_REACH * median(word.area.bottom - word.area.top for word in words))
    return Rectangle(
        max(0, min(word.area.left for word in words) - reach),
        max(0, round(median(word.area.top for word in words)) - reach),
        min(size[0], max(word.area.right for word in words) + reach),
        min(size[1], round(median(word.area.bottom for word in words)) + reach),
    )
