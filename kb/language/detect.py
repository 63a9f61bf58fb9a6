"""The language of a text by a stated rule, for documents, chunks and queries; cheap enough for the cold search path.

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

import re

from kb.language.lists import words

SAMPLE_CHARS = 20_000
MIN_PASSAGE_LETTERS = 20

_SCRIPT_SHARE = 0.2
_FUNCTION_WORD_SHARE = 0.06
_SHORT_TEXT_WORDS = 20

# Precomposed syllables, conjoining jamo (as in NFD text from macOS), compatibility jamo.
_HANGUL = re.compile("[가-힣\u1100-\u11ff\u3131-\u318e]+")
_KANA = re.compile("[\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff]+")
_HAN = re.compile("[\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff]+")
_LATIN = re.compile("[A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f]+")
_LETTERS = re.compile(r"[^\W\d_]+")


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
    """The language of a query, where a single Hangul, kana or Han letter tells; English otherwise."""
    if text.isascii():
        return "en"
    if _HANGUL.search(text):
        return "ko"
    if _KANA.search(text):
        return "ja"
    return "zh" if _HAN.search(text) else "en"


def _prose(text: str) -> str:
    from kb.language.markup import without_markup  # a question has no use for its patterns

    return without_markup(text[:SAMPLE_CHARS])


def _detect(prose: str) -> tuple[str, int]:
    """The language of `prose` and the number of its letters."""
    letters = _count(_LETTERS, prose)
    if letters == 0:
        return "und", 0
    if not prose.isascii():
        for language, script in (("ko", _HANGUL), ("ja", _KANA), ("zh", _HAN)):
            if _count(script, prose) >= _SCRIPT_SHARE * letters:
                return language, letters
    latin = _LATIN.findall(prose)
    if 2 * sum(map(len, latin)) < letters:
        return "und", letters
    function_words = sum(word.lower() in _function_words() for word in latin)
    is_english = len(latin) < _SHORT_TEXT_WORDS or function_words >= _FUNCTION_WORD_SHARE * len(latin)
    return ("en" if is_english else "und"), letters


def _is_running_english(prose: str) -> bool:
    """Whether English sentences are there, however few: terms alone have no function words."""
    latin = _LATIN.findall(prose)
    function_words = sum(word.lower() in _function_words() for word in latin)
    return function_words >= max(2, _FUNCTION_WORD_SHARE * len(latin))


def _count(letters: re.Pattern[str], text: str) -> int:
    return sum(map(len, letters.findall(text)))
