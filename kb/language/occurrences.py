"""Where a text holds a quotation: the one search for it, with one definition of what counts as the same.

Places are ranges of the text as it was given, however it was folded to be searched. A quotation is looked for
`verbatim`, where a line is told from it or a change of it matters: letter for letter, however letters are composed. It
is looked for by its `words` where somebody else wrote it down, a model or the author of a golden set: letter case and
white space aside. The words of a question are no quotation, they end otherwise in a text: `retrieve/snippet.py` finds
them, by their stems.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Literal

from kb.domain.text import Range, stored_text

Folding = Literal["verbatim", "words"]

_WHITE = re.compile(r"\s+")
_PIECE = re.compile(r"\s+|\S+")  # pieces are folded one by one: nothing is composed across white space


def folded(text: str, folding: Folding) -> str:
    """`text` as it is compared: in NFC; of `words` in one letter case, with one space for each run of white space."""
    text = stored_text(text)
    return text if folding == "verbatim" else _WHITE.sub(" ", text.casefold())


def occurs(quote: str, text: str, folding: Folding) -> bool:
    """Whether a text holds a quotation. Every text holds one of nothing."""
    return _sought(quote, folding) in folded(text, folding)


def occurrences(quote: str, text: str, folding: Folding) -> Iterator[Range]:
    """Where a text holds a quotation, in order; two may overlap. A quotation of nothing is nowhere."""
    sought, held = _sought(quote, folding), folded(text, folding)
    start = held.find(sought) if sought else -1
    origins = None if start < 0 or held == text else _Origins(text, folding)
    while start >= 0:
        end = start + len(sought)
        yield (start, end) if origins is None else (origins.start(start), origins.end(end))
        start = held.find(sought, start + 1)


def _sought(quote: str, folding: Folding) -> str:
    sought = folded(quote, folding)
    return sought if folding == "verbatim" else sought.strip()


class _Origins:
    """Where the characters of a folded text came from: it is cut into pieces, and a piece only where that is asked."""

    def __init__(self, text: str, folding: Folding) -> None:
        self._folding = folding
        self._pieces = _PIECE.findall(text)
        self._starts = list(accumulate(map(len, self._pieces), initial=0))
        self._folded_starts = list(accumulate((len(folded(each, folding)) for each in self._pieces), initial=0))

    def start(self, at: int) -> int:
        """Where the character begins that became the folded one at `at`."""
        return self._before(bisect_right(self._folded_starts, at) - 1, at)[0]

    def end(self, at: int) -> int:
        """Where the character ends that became the folded one before `at`."""
        piece = bisect_right(self._folded_starts, at - 1) - 1
        place, is_whole = self._before(piece, at)
        return place if is_whole else place + 1

    def _before(self, piece: int, at: int) -> tuple[int, bool]:
        """How far the text goes of which no more came than `at` folded characters, and whether that is all of them."""
        text, wanted = self._pieces[piece], at - self._folded_starts[piece]
        taken = bisect_right(range(len(text) + 1), wanted, key=lambda end: len(folded(text[:end], self._folding))) - 1
        return self._starts[piece] + taken, len(folded(text[:taken], self._folding)) == wanted
