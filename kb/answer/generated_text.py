"""Parses markers of passages, thoughts and refusals in a generated text.

A marker is a pair of brackets with only numbers between them, in any notation: `[1, #3]`, `[1-3]`, `[[9]8]`, `【2】`,
with white space or invisible characters inside. Nested markers count as one, so that removing one never leaves another.
A refusal has two signs: its subject is the sources or the writer ("the notes do not mention", "I cannot tell", 자료에는
… 나와 있지 않습니다), and no source contains the sentence. "The virus is not found in humans" is about the virus.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from kb.answer.words import Words, carried, words_of
from kb.domain.search import Passage
from kb.language.lists import pattern
from kb.language.sentences import sentence_ranges

_OPENING, _CLOSING = "[［【〔", "]］】〕"
_INVISIBLE = "\u00ad\u200b-\u200f\u2060\ufeff"
# All characters that markers may contain, from an opening bracket on. A marker never reaches beyond such a run.
_RUN = re.compile(rf"[{re.escape(_OPENING)}][\s\d#＃,，、;\-–~{re.escape(_OPENING + _CLOSING)}{_INVISIBLE}]*+")
_BETWEEN = re.compile(rf"[\s#＃,，、;{re.escape(_OPENING + _CLOSING)}{_INVISIBLE}]+")
_NUMBERS = re.compile(r"(\d{1,9})(?:[-–~](\d{1,9}))?")
_SPACE = re.compile(r"[ \t]{1,8}\Z")

_LONGEST_RUN = 200
_LONGEST_RANGE = 20


class Unmarked(NamedTuple):
    """A text without its markers. Each of `marks` is the position of a marker and the passages that it names."""

    text: str
    marks: tuple[tuple[int, tuple[int, ...]], ...]


class _Marker(NamedTuple):
    """A marker at `start`..`end` of a text, including the white space before it."""

    start: int
    end: int
    numbers: tuple[int, ...]


def take_markers(text: str) -> Unmarked:
    """`text` without markers, and the place of each marker in the remaining text."""
    parts: list[str] = []
    marks: list[tuple[int, tuple[int, ...]]] = []
    at = length = 0
    for marker in _markers(text):
        parts.append(text[at : marker.start])
        length += marker.start - at
        marks.append((length, marker.numbers))
        at = marker.end
    return Unmarked("".join((*parts, text[at:])), tuple(marks))


def show_markers(numbers: Collection[int]) -> str:
    """The markers of some passages, as written after a sentence: ` [1][3]`; empty for none."""
    return " " + "".join(f"[{number}]" for number in numbers) if numbers else ""


def without_brackets(text: str, places: Collection[int]) -> str:
    """Quoted `text` in which wide brackets replace everything that would look like a marker of one of these places.

    Text between backticks stays unchanged: there `[0]` is code.
    """

    def widened(found: re.Match[str]) -> str:
        names = not found["code"] and all(int(number) in places for number in re.findall(r"\d+", found[0]))
        return found[0].translate(_WIDE) if names else found[0]

    return _CODE_OR_MARKERS.sub(widened, text)


_CODE_OR_MARKERS = re.compile(r"(?P<code>`[^`\n]*`)|(?<!\S)(?:\[\d{1,9}\])+(?![\w\[(])")
_WIDE = str.maketrans({"[": "［", "]": "］"})


class MarkerFilter:
    """Removes markers of unknown passages from a stream."""

    def __init__(self, known: Collection[int]) -> None:
        self._known = frozenset(known)
        self._held = ""

    def feed(self, piece: str) -> str:
        """The text that can be shown now; the beginning of a possible marker is held back until it is complete."""
        text = self._held + piece
        start = next((run.start() for run in _RUN.finditer(text) if run.end() == len(text)), len(text))
        if len(text) - start > _LONGEST_RUN:
            self._held = ""
            return _without_opening(self._rewritten(text))
        space = _SPACE.search(text[max(0, start - 8) : start])
        cut = start - len(space[0]) if space else start
        self._held = text[cut:]
        return self._rewritten(text[:cut])

    def end(self) -> str:
        """The text that was still held back when the stream ended."""
        text, self._held = self._held, ""
        return self._rewritten(text)

    def _rewritten(self, text: str) -> str:
        parts: list[str] = []
        at = 0
        for marker in _markers(text):
            parts += [text[at : marker.start], show_markers([n for n in marker.numbers if n in self._known])]
            at = marker.end
        return "".join((*parts, text[at:]))


def _markers(text: str) -> Iterator[_Marker]:
    """The markers of a text in order; of nested ones, the outermost."""
    for run in _RUN.finditer(text):
        for start, end in _outermost(run[0]):
            numbers = _numbers(run[0][start:end])
            if numbers:
                first = run.start() + start
                space = _SPACE.search(text[max(0, first - 8) : first])
                yield _Marker(first - len(space[0]) if space else first, run.start() + end, numbers)


def _outermost(run: str) -> list[tuple[int, int]]:
    """The [start, end) of each outermost pair of brackets in a run."""
    pairs: list[tuple[int, int]] = []
    opened: list[int] = []
    for at, char in enumerate(run):
        if char in _OPENING:
            opened.append(at)
        elif char in _CLOSING and opened:
            start = opened.pop()
            while pairs and pairs[-1][0] > start:
                pairs.pop()
            pairs.append((start, at + 1))
    return pairs


def _numbers(bracketed: str) -> tuple[int, ...]:
    """The passages that a pair of brackets names; empty if there is anything but numbers between them."""
    found: dict[int, None] = {}
    for part in filter(None, _BETWEEN.split(bracketed)):
        match = _NUMBERS.fullmatch(part)
        if match is None:
            return ()
        first, last = int(match[1]), int(match[2] or match[1])
        spanned = range(first, last + 1) if 0 <= last - first < _LONGEST_RANGE else (first, last)
        found.update((number, None) for number in spanned)
    return tuple(found)


def _without_opening(text: str) -> str:
    """`text` without unclosed opening brackets, so that text added after it cannot close one."""
    run = max(text.rfind(char) for char in _CLOSING) + 1
    return text[:run] + "".join(char for char in text[run:] if char not in _OPENING)


# A tag between backticks is quoted, and stays.
_NAMES = "think|thinking|thought|thoughts|reasoning|reflection"
_THOUGHT_BEGINS = re.compile(rf"(?<!`)<\s*(?:{_NAMES})\s*>", re.IGNORECASE)
_THOUGHT_ENDS = re.compile(rf"(?<!`)<\s*/\s*(?:{_NAMES})\s*>", re.IGNORECASE)
_TAG_BEGUN = re.compile(r"<\s*/?\s*[a-z]*\s*\Z", re.IGNORECASE)
_LONGEST_TAG = 40


def without_thoughts(text: str) -> str:
    """`text` without the model's thoughts; one without an end tag ends the text, one without a start tag begins it."""
    shown = ThoughtFilter()
    kept = shown.feed(text) + shown.end()
    ends = [closing.end() for closing in _THOUGHT_ENDS.finditer(kept)]
    return kept[ends[-1] :].lstrip() if ends else kept


class ThoughtFilter:
    """Removes thoughts from a text that arrives in pieces cut anywhere."""

    def __init__(self) -> None:
        self._held = ""
        self._thinks = False
        self._before = ""

    def feed(self, piece: str) -> str:
        """The text that can be shown now; the beginning of a possible tag is held back until the tag is complete."""
        text = self._held + piece
        begun = _TAG_BEGUN.search(text[-_LONGEST_TAG:])
        cut = len(text) - len(begun[0]) if begun else len(text)
        self._held = text[cut:]
        return self._shown(text[:cut])

    def end(self) -> str:
        """The text that was still held back when the stream ended."""
        text, self._held = self._held, ""
        return self._shown(text)

    def _shown(self, text: str) -> str:
        parts: list[str] = []
        text, at = self._before + text, len(self._before)
        while tag := (_THOUGHT_ENDS if self._thinks else _THOUGHT_BEGINS).search(text, at):
            if not self._thinks:
                parts.append(text[at : tag.start()])
            self._thinks, at = not self._thinks, tag.end()
        if not self._thinks:
            parts.append(text[at:])
        self._before = text[-1:]
        return "".join(parts)


CARRIED = 0.75
"""A sentence that shares at least this part of its words with a source is no refusal."""


def is_refusal(text: str, packed: Sequence[Passage]) -> bool:
    """Whether a generated text says that the sources have no answer: in its first sentence, or by being empty."""
    bare = take_markers(text).text.strip()
    said = (bare[start:end] for start, end in sentence_ranges(bare))
    first = next((sentence for sentence in said if not _refusal_pattern("preamble").fullmatch(sentence.strip())), "")
    return not first or refuses(first, packed)


def refuses(sentence: str, packed: Sequence[Passage]) -> bool:
    """Whether a sentence says, in words that no source contains, that the sources lack something."""
    plain = " ".join(sentence.split())
    said = _refusal_pattern("en").search(plain) or _refusal_pattern("ko").search(plain)
    return said is not None and not any(_is_told(words_of(said[0]), passage) for passage in packed)


def _refusal_pattern(kind: str) -> re.Pattern[str]:
    return pattern("refusals", kind, re.IGNORECASE)


def _is_told(words: Words, passage: Passage) -> bool:
    """Whether one sentence of a passage contains most words of what sounds like a refusal."""
    return any(
        carried(words, words_of(passage.text[start:end])) >= CARRIED for start, end in sentence_ranges(passage.text)
    )
