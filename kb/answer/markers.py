"""The markers of a generated text, `[1]` or `[#1]`: read, kept where they point at a packed passage, else taken out."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

_MARKER = re.compile(r"[ \t]*\[\s*#?\d{1,4}(?:\s*[,;]\s*#?\d{1,4})*\s*\]")
_NUMBER = re.compile(r"\d{1,4}")
# The start of what may still become a marker, at the end of what has come so far.
_OPEN = re.compile(r"[ \t]*(?:\[[\s\d#,;]{0,40})?\Z")


class Unmarked(NamedTuple):
    """A text without its markers. Each of `marks` is (where it stood, the passages it names)."""

    text: str
    marks: tuple[tuple[int, tuple[int, ...]], ...]


def take_markers(text: str) -> Unmarked:
    """`text` without markers, and where each of them stood in what is left."""
    parts: list[str] = []
    marks: list[tuple[int, tuple[int, ...]]] = []
    at = length = 0
    for match in _MARKER.finditer(text):
        parts.append(text[at : match.start()])
        length += match.start() - at
        marks.append((length, tuple(dict.fromkeys(map(int, _NUMBER.findall(match[0]))))))
        at = match.end()
    return Unmarked("".join((*parts, text[at:])), tuple(marks))


def show_markers(numbers: Collection[int]) -> str:
    """The markers of some passages, as they follow a sentence: ` [1][3]`; empty for none."""
    return " " + "".join(f"[{number}]" for number in numbers) if numbers else ""


class MarkerFilter:
    """Rewrites a stream so that what is shown carries no marker of a passage that was not given."""

    def __init__(self, known: Collection[int]) -> None:
        self._known = frozenset(known)
        self._held = ""

    def feed(self, piece: str) -> str:
        """What can be shown now; the start of a possible marker is held back until it is whole."""
        text = self._held + piece
        held_from = _OPEN.search(text)
        cut = held_from.start() if held_from else len(text)
        self._held = text[cut:]
        return _MARKER.sub(self._rewritten, text[:cut])

    def end(self) -> str:
        """What was held back when the stream ended."""
        text, self._held = self._held, ""
        return _MARKER.sub(self._rewritten, text)

    def _rewritten(self, match: re.Match[str]) -> str:
        return show_markers([n for n in map(int, _NUMBER.findall(match[0])) if n in self._known])
