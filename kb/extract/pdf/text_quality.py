"""Whether a page's text layer says what the page shows, told from the characters alone."""

from __future__ import annotations

import re

# Below so many letters and digits a page with a picture on it is taken for a scan.
FEWEST_LETTERS = 16

# What a font without a usable character map gives: nothing, private codes, control codes.
_UNREADABLE = re.compile("[\ufffd\ue000-\uf8ff\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\U000f0000-\U0010ffff]")
_UNREADABLE_SHARE = 0.15

# UTF-8 or CP949 read byte by byte as Latin-1: runs of accented letters and signs that no language has.
_LATIN_1_RUN = re.compile("[\u0080-\u00ff]{3,}")
_LATIN_1_SHARE = 0.25

# Glyph numbers taken for characters scatter over scripts nobody mixes: Arabic, Devanagari, Thai, Ethiopic, Cherokee …
_SCATTERED = re.compile("[\u0530-\u10ff\u1200-\u1dff\ua000-\uabff]")
_SCATTERED_SHARE = 0.2
_ONE_SCRIPT_SHARE = 0.8


def has_letters(text: str, least: int = FEWEST_LETTERS) -> bool:
    """Whether `text` has so many letters and digits."""
    return sum(map(str.isalnum, text[: 3 * least])) >= least or sum(map(str.isalnum, text)) >= least


def is_readable(text: str) -> bool:
    """Whether `text` reads like a language; an empty text does."""
    if text.isascii():
        return not _UNREADABLE.search(text) or len(_UNREADABLE.findall(text)) < _UNREADABLE_SHARE * len(text)
    size = len("".join(text.split())) or 1
    if len(_UNREADABLE.findall(text)) >= _UNREADABLE_SHARE * size:
        return False
    if sum(map(len, _LATIN_1_RUN.findall(text))) >= _LATIN_1_SHARE * size:
        return False
    scattered = _SCATTERED.findall(text)
    return len(scattered) < _SCATTERED_SHARE * size or _mostly_one_script(scattered)


def _mostly_one_script(letters: list[str]) -> bool:
    """Whether letters come from one script, told by blocks of 128 code points."""
    blocks = [ord(letter) >> 7 for letter in letters]
    return max(map(blocks.count, set(blocks))) >= _ONE_SCRIPT_SHARE * len(blocks)
