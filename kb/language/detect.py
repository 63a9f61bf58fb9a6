"""Detects the language of documents, chunks and queries by a fixed rule, cheap enough for the cold search path.

    Korean    at least a fifth of the letters are Hangul
    Japanese  at least a fifth are kana
    Chinese   at least a fifth are Han
    English   most are Latin, and at least 6 % of the words are English function words, or there are under 20 words
    und       anything else

A fifth, not a half: Korean and Japanese technical prose is full of Latin terms, and one Hangul syllable says as much as
two or three Latin letters. English text that quotes some Korean stays well below. Code, links and tags are not counted:
they are Latin in every language. So are wikilinks, embeds, block ids and callout marks (`kb.language.markup`).
"""

from __future__ import annotations

import functools
import re

from kb.language.lists import words

SAMPLE_CHARS = 20_000
MIN_PASSAGE_LETTERS = 20

_SCRIPT_SHARE = 0.2
_FUNCTION_WORD_SHARE = 0.06
_SHORT_TEXT_WORDS = 20

# The first and the last letter of each range. Hangul: precomposed syllables, conjoining jamo (as in NFD text from
# macOS), compatibility jamo.
_SCRIPTS = {
    "ko": "가힣\u1100\u11ff\u3131\u318e",
    "ja": "\u3041\u309f\u30a1\u30fa\u30fc\u30ff",
    "zh": "\u4e00\u9fff\u3400\u4dbf\uf900\ufaff",
    "any": "",
    "latin": "AZaz\u00c0\u00d6\u00d8\u00f6\u00f8\u024f",
}


@functools.cache
def _letters_of(script: str) -> re.Pattern[str]:
    """Matches runs of letters of a script. Compiled at the first text: questions need not wait a millisecond for it."""
    ranges = "".join(f"{low}-{high}" for low, high in _ranges(script))
    return re.compile(f"[{ranges}]+" if ranges else r"[^\W\d_]+")


def _ranges(script: str) -> list[tuple[str, str]]:
    ends = _SCRIPTS[script]
    return list(zip(ends[::2], ends[1::2], strict=True))


def _function_words() -> frozenset[str]:
    """English words that are rare or absent in other languages of Latin script."""
    return words("function_words", "english")


def detect_language(text: str) -> str:
    """The ISO 639 code of the language most of `text` is in; judged by its first 20,000 characters."""
    return _detect(_prose(text))[0]


def passage_language(text: str, document_language: str) -> str:
    """The language of a passage; `document_language` where the passage has too little prose to tell."""
    prose = text[:SAMPLE_CHARS]
    if prose.isascii() and document_language == "en":
        return "en"
    bare = _prose(prose)
    language, letters = _detect(bare)
    if letters < MIN_PASSAGE_LETTERS or language == "und":
        return document_language
    if language == "en" and document_language != "en" and not _is_running_english(bare):
        return document_language  # names and terms are English in notes of every language
    return language


def query_language(text: str) -> str:
    """The language of a query, by any Hangul, kana or Han letter; English without one."""
    if text.isascii():
        return "en"
    return next((script for script in ("ko", "ja", "zh") if _has_letter_of(script, text)), "en")


def _has_letter_of(script: str, text: str) -> bool:
    ranges = _ranges(script)
    return any(low <= char <= high for char in text for low, high in ranges)


def _prose(text: str) -> str:
    from kb.language.markup import without_markup  # a question need not load its patterns

    return without_markup(text[:SAMPLE_CHARS])


def _detect(prose: str) -> tuple[str, int]:
    """The language of `prose` and the number of its letters."""
    latin = _letters_of("latin").findall(prose)
    latin_letters = sum(map(len, latin))
    letters = latin_letters if prose.isascii() else _count("any", prose)
    if letters == 0:
        return "und", 0
    if not prose.isascii():
        for language in ("ko", "ja", "zh"):
            if _count(language, prose) >= _SCRIPT_SHARE * letters:
                return language, letters
    if 2 * latin_letters < letters:
        return "und", letters
    function_words = _count_function_words(latin)
    is_english = len(latin) < _SHORT_TEXT_WORDS or function_words >= _FUNCTION_WORD_SHARE * len(latin)
    return ("en" if is_english else "und"), letters


def _is_running_english(prose: str) -> bool:
    """Whether a text contains English sentences, however few: terms alone have no function words."""
    latin = _letters_of("latin").findall(prose)
    return _count_function_words(latin) >= max(2, _FUNCTION_WORD_SHARE * len(latin))


def _count_function_words(latin: list[str]) -> int:
    return sum(map(_function_words().__contains__, map(str.lower, latin)))


def _count(script: str, text: str) -> int:
    return sum(map(len, _letters_of(script).findall(text)))
