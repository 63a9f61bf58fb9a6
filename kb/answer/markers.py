"""The markers of a generated text, `[1]` or `[#1]`: read, kept where they point at a packed passage, else taken out.

A marker is a pair of brackets with nothing but numbers between them, however they are written: `[1, #3]`, `[1-3]`,
`[[9]8]`, `【2】`, with white space or invisible characters inside. Nested ones go as one, so that taking one out never
leaves another.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from kb.records import NamedTuple

_OPENING, _CLOSING = "[［【〔", "]］】〕"
_INVISIBLE = "\u00ad\u200b-\u200f\u2060\ufeff"
# All that can be in markers, from an opening bracket on. What follows such a run is never part of a marker in it.
_RUN = re.compile(rf"[{re.escape(_OPENING)}][\s\d#＃,，、;\-–~{re.escape(_OPENING + _CLOSING)}{_INVISIBLE}]*+")
_BETWEEN = re.compile(rf"[\s#＃,，、;{re.escape(_OPENING + _CLOSING)}{_INVISIBLE}]+")
_NUMBERS = re.compile(r"(\d{1,9})(?:[-–~](\d{1,9}))?")
_SPACE = re.compile(r"[ \t]{1,8}\Z")

_LONGEST_RUN = 200
_LONGEST_RANGE = 20


class Unmarked(NamedTuple):
    """A text without its markers. Each of `marks` is (where it stood, the passages it names)."""

    text: str
    marks: tuple[tuple[int, tuple[int, ...]], ...]


class _Marker(NamedTuple):
    """A marker at `start`..`end` of a text, the white space before it included."""

    start: int
    end: int
    numbers: tuple[int, ...]


def take_markers(text: str) -> Unmarked:
    """`text` without markers, and where each of them was in what is left."""
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
    """The markers of some passages, as they follow a sentence: ` [1][3]`; empty for none."""
    return " " + "".join(f"[{number}]" for number in numbers) if numbers else ""


def without_brackets(text: str, places: Collection[int]) -> str:
    """`text` with wide brackets where it reads as `show_markers` of some of these places would, for quoted words.

    What is between backticks stays: there `[0]` is code.
    """

    def widened(found: re.Match[str]) -> str:
        names = not found["code"] and all(int(number) in places for number in re.findall(r"\d+", found[0]))
        return found[0].translate(_WIDE) if names else found[0]

    return _CODE_OR_MARKERS.sub(widened, text)


_CODE_OR_MARKERS = re.compile(r"(?P<code>`[^`\n]*`)|(?<!\S)(?:\[\d{1,9}\])+(?![\w\[(])")
_WIDE = str.maketrans({"[": "［", "]": "］"})


class MarkerFilter:
    """Rewrites a stream so that what is shown carries no marker of a passage that was not given."""

    def __init__(self, known: Collection[int]) -> None:
        self._known = frozenset(known)
        self._held = ""

    def feed(self, piece: str) -> str:
        """What can be shown now; the start of a possible marker is held back until it is whole."""
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
        """What was held back when the stream ended."""
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
    """The markers of a text in order, of nested ones the outermost."""
    for run in _RUN.finditer(text):
        for start, end in _outermost(run[0]):
            numbers = _numbers(run[0][start:end])
            if numbers:
                first = run.start() + start
                space = _SPACE.search(text[max(0, first - 8) : first])
                yield _Marker(first - len(space[0]) if space else first, run.start() + end, numbers)


def _outermost(run: str) -> list[tuple[int, int]]:
    """The [start, end) of the pairs of brackets in a run that are in no other pair."""
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
    """The passages a pair of brackets names; none where anything else than numbers is between them."""
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
    """`text` where no bracket is left open: what comes after it can close none."""
    run = max(text.rfind(char) for char in _CLOSING) + 1
    return text[:run] + "".join(char for char in text[run:] if char not in _OPENING)
