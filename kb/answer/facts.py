"""What a sentence states that can be looked up: numbers, dates and names, and words in quotation marks."""

from __future__ import annotations

import re

from kb.domain.text import stored_text

# Shorter ones are titles and scare quotes.
_LEAST_QUOTE_CHARS = 6

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_QUOTE = re.compile(r"\"([^\"\n]+)\"|“([^”\n]+)”|「([^」\n]+)」|『([^』\n]+)』")
_NAME = re.compile(r"(?<![\w.!?…\"“])(?<![.!?…:]\s)[A-Z][\w&-]*(?:[ -][A-Z][\w&-]*)*")
_LATIN_IN_KOREAN = re.compile(r"[A-Za-z][A-Za-z0-9_.+#/-]+")  # without the particle behind it: Docker는
_HANGUL = re.compile("[가-힣]")

_MONTHS = "january february march april may june july august september october november december".split()
_NUMBER_WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()


def numbers_in(text: str) -> frozenset[str]:
    """The numbers of a text, without separators of thousands and closing zeros: `1,204` is `1204`."""
    return frozenset(_plain_number(found) for found in _NUMBER.findall(stored_text(text)))


def stated_numbers(text: str) -> frozenset[str]:
    """The numbers a source states, those it spells out among them: months and the words up to twelve."""
    words = set(re.findall(r"[a-z]+", text.lower()))
    months = {str(at) for at, month in enumerate(_MONTHS, 1) if month in words or month[:3] in words}
    return numbers_in(text) | months | {str(at) for at, word in enumerate(_NUMBER_WORDS) if word in words}


def quotes_in(text: str) -> tuple[str, ...]:
    """What a text puts in quotation marks, where it is long enough to be a quotation."""
    found = (next(part for part in match.groups() if part) for match in _QUOTE.finditer(text))
    return tuple(quote for quote in found if len(quote.strip()) >= _LEAST_QUOTE_CHARS)


def names_in(text: str) -> frozenset[str]:
    """The words of a text that are names by their spelling, in lower case: Latin words in Korean, capitals in English.

    A capital that only begins a sentence is none. Korean names are not told apart from other words.
    """
    if _HANGUL.search(text):
        return frozenset(match.lower().rstrip(".") for match in _LATIN_IN_KOREAN.findall(text))
    found = ((match.start() == 0, re.split(r"[ -]", match[0])) for match in _NAME.finditer(text))
    words = (word for begins, name in found for word in name[begins:])
    return frozenset(word.lower() for word in words if len(word) > 1)


def stands_in(quote: str, source: str) -> bool:
    """Whether a quotation stands in a source, white space and letter case aside."""
    return _folded(quote).strip(" .,…") in _folded(source)


def _folded(text: str) -> str:
    return " ".join(stored_text(text).lower().split())


def _plain_number(text: str) -> str:
    whole, _, decimals = text.replace(",", "").partition(".")
    decimals = decimals.rstrip("0")
    return (whole.lstrip("0") or "0") + (f".{decimals}" if decimals else "")
