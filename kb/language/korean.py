"""Korean morphemes: by Kiwi when text is indexed, by the index's units when a question is parsed.

Kiwi takes two seconds to load, too long for one search. So ingest stores every written unit that Kiwi found
(`korean_units`: the surface, its content morphemes, its count), and a question is cut into these units: along the
cheapest path through its syllables, where a known unit costs the negative logarithm of its frequency (a unigram model,
as in Kudo 2018, "Subword Regularization", §3.2).
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.language.lists import rows

if TYPE_CHECKING:
    from kiwipiepy import Kiwi

# Bumped when CONTENT_TAGS, the cut into units or the names beside morphemes change; the analyser's version is added.
ANALYSIS_VERSION = "units-v3"

# Nouns, numerals, pronouns, foreign words, numbers, Chinese characters, verb and adjective stems, roots,
# determiners, adverbs and affixes: the morphemes that a question shares with its answer, without particles and endings.
CONTENT_TAGS = frozenset(
    ["NNG", "NNP", "NNB", "NR", "NP", "SL", "SN", "SH", "VV", "VA", "XR", "MM", "MAG", "XPN", "XSN"]
)

# Costs of the cut: a unit that is not in the index, and each of its syllables beyond the first.
_UNKNOWN_COST = 16.0
_UNKNOWN_SYLLABLE_COST = 4.0
_LONGEST_WORD_CHARS = 40

# The count of each particle and ending that every index is given: a small index has too few.
_FUNCTION_WORD_COUNT = 20


@functools.cache
def _function_words() -> tuple[str, ...]:
    return tuple(" ".join(rows("function_words")["korean"]).split())


# A word with Hangul in it, and the part of a name before a word's first piece: `192.168.0.` before 20으로.
_WITH_HANGUL = r"[^\W_]*[가-힣][^\W_]*"
_NAME_BEFORE = r"(?:[^\W_가-힣]+[-._/:@+#,])+$"
_NAME_CHARS = 64
_NO_WORD = r"[\W_]+"


class KoreanText(NamedTuple):
    """Kiwi's analysis of one text: its content morphemes in order, and how often each written unit occurred.

    `names` are words without a single morpheme, without the particle after them, each once: letters and digits next to
    Hangul (`E03` of E03은, `192.168.0.20`), and compounds written as one word (`에러코드` of 에러코드를, `T맵`).
    """

    morphemes: tuple[str, ...]
    units: Counter[tuple[str, str]]
    names: tuple[str, ...] = ()

    @property
    def indexed(self) -> str:
        """The text that the lexical index stores beside its words."""
        return " ".join((*self.morphemes, *self.names))


@functools.cache
def hangul() -> re.Pattern[str]:
    """Matches Hangul syllables; compiled at its first use, since that takes longer than an English question."""
    return re.compile("[가-힣]+")


def has_hangul(text: str) -> bool:
    """Whether `text` has at least one Hangul syllable."""
    return not text.isascii() and hangul().search(text) is not None


@functools.cache
def analysis_version() -> str:
    """The version of the analysis: the analyser with its version, and kb's own rules."""
    from importlib.metadata import version

    return f"kiwi-{version('kiwipiepy')}-{ANALYSIS_VERSION}"


@functools.cache
def _kiwi() -> Kiwi:
    from kiwipiepy import Kiwi

    # Its dictionary of multi-word names (films, books, people) takes 190 MB and as long to load as the rest; words are
    # indexed one by one, and no question finds more with it.
    return Kiwi(load_multi_dict=False)


def release_analyser() -> None:
    """Frees the analyser's memory; the next text loads it again."""
    _kiwi.cache_clear()


def tagged(text: str) -> list[tuple[str, str, int]]:
    """The morphemes of a text in order, particles and endings too: form, Kiwi's tag without its suffix, start."""
    return [(token.form, token.tag.partition("-")[0], token.start) for token in _kiwi().tokenize(text)]


def analyse(texts: Sequence[str]) -> Iterator[KoreanText]:
    """Kiwi's analysis of each text, in order, as a stream; several texts at once use all cores."""
    for text, tokens in zip(texts, _kiwi().tokenize(iter(texts)), strict=True):
        yield _korean_text(text, [(token.form, token.tag, token.start, token.len) for token in tokens])


def _korean_text(text: str, tokens: Iterable[tuple[str, str, int, int]]) -> KoreanText:
    """Kiwi's tokens as content morphemes and written units.

    Tokens that share a syllable (도와 = 돕 + 아) are one unit; its surface is the written text.
    """
    morphemes: list[str] = []
    units: Counter[tuple[str, str]] = Counter()
    start = end = 0
    content: list[str] = []
    bare_ends: dict[int, int] = {}
    tail = -1
    for form, tag, token_start, token_len in tokens:
        if token_start >= end:
            _count_unit(units, text[start:end], content)
            tail = tail if token_start == end else -1
            start, content = token_start, []
        end = max(end, token_start + token_len)
        kind = tag.partition("-")[0]
        if kind in CONTENT_TAGS:
            morphemes.append(form)
            content.append(form)
        # Particles, and 이다 with its endings, which follow nouns alone.
        if kind[0] == "J" or kind == "VCP":
            tail = token_start if tail < 0 else tail
        elif kind[0] != "E":
            tail = -1
        if tail >= 0:
            bare_ends[end] = tail
    _count_unit(units, text[start:end], content)
    return KoreanText(tuple(morphemes), units, tuple(_names(text, bare_ends, " ".join(morphemes))))


def _names(text: str, bare_ends: Mapping[int, int], morphemes: str) -> Iterator[str]:
    """The names in a text; `bare_ends`: the end of a word → its end without the particle."""
    found: dict[str, None] = {}
    for word in re.finditer(_WITH_HANGUL, text):
        start, end = word.span()
        bare = text[start : bare_ends.get(end, end)]
        if start + len(bare) < end and has_hangul(bare):
            found[bare] = None
        if hangul().fullmatch(word[0]) is None:
            for piece in re.finditer("[^가-힣]+", word[0]):
                before = None if piece.start() else re.search(_NAME_BEFORE, text[max(0, start - _NAME_CHARS) : start])
                found[f"{before[0] if before else ''}{piece[0]}"] = None
    held = f" {re.sub(_NO_WORD, ' ', morphemes)} "
    for name in found:
        if name and f" {re.sub(_NO_WORD, ' ', name)} " not in held:
            yield name


def _count_unit(units: Counter[tuple[str, str]], surface: str, content: Sequence[str]) -> None:
    if hangul().fullmatch(surface):
        units[surface, " ".join(content)] += 1


class KnownUnit(NamedTuple):
    """One row of `korean_units`: a written unit, its morphemes (separated by spaces), its count."""

    surface: str
    morphemes: str
    occurrences: int


class Cut(NamedTuple):
    """One piece of a cut word: its content morphemes, or the piece itself when it is unknown."""

    morphemes: tuple[str, ...]
    known: bool


def substrings(words: Iterable[str]) -> list[str]:
    """Every substring of the words, sorted: the units that a cut looks up."""
    return sorted(
        {
            word[start:end]
            for word in words
            for start in range(len(word))
            for end in range(start + 1, min(len(word), start + _LONGEST_WORD_CHARS) + 1)
        }
    )


def unit_lexicon(known: Iterable[KnownUnit]) -> tuple[Mapping[str, str], Mapping[str, int]]:
    """Two maps by written form: the morphemes it most often has, and its count. Function words are included."""
    counts: Counter[str] = Counter(dict.fromkeys(_function_words(), _FUNCTION_WORD_COUNT))
    readings: dict[str, tuple[int, str]] = dict.fromkeys(_function_words(), (_FUNCTION_WORD_COUNT, ""))
    for surface, morphemes, occurrences in known:
        counts[surface] += occurrences
        readings[surface] = max(readings.get(surface, (0, "")), (occurrences, morphemes))
    return {surface: morphemes for surface, (_, morphemes) in readings.items()}, counts


def cut_word(word: str, readings: Mapping[str, str], counts: Mapping[str, int], total: int) -> list[Cut]:
    """The cheapest cut of one Hangul word into units. `total` is the sum of all counts in the index."""
    scale = math.log(max(total, 1) + _FUNCTION_WORD_COUNT * len(_function_words()))
    best = [0.0] + [math.inf] * len(word)
    came_from = [0] * (len(word) + 1)
    for end in range(1, len(word) + 1):
        for start in range(max(0, end - _LONGEST_WORD_CHARS), end):
            count = counts.get(word[start:end])
            cost = (
                _UNKNOWN_COST + (end - start - 1) * _UNKNOWN_SYLLABLE_COST if count is None else scale - math.log(count)
            )
            if best[start] + cost < best[end]:
                best[end], came_from[end] = best[start] + cost, start
    cuts: list[Cut] = []
    end = len(word)
    while end:
        piece = word[came_from[end] : end]
        known = piece in readings
        cuts.append(Cut(tuple(readings[piece].split()) if known else (piece,), known))
        end = came_from[end]
    return cuts[::-1]
