"""Finds a quotation in a text: the only such search, with one definition of equality.

Places are ranges of the original text, however it is folded for the search. The folding `verbatim` compares letter for
letter, after NFC, where lines are counted or a change matters. The folding `words` ignores letter case and white space,
for quotations written by a model or the author of a golden set. The words of a question are no quotation, and have
other endings in a text: `retrieve/snippet.py` finds them by their stems.
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
    """`text` as it is compared: in NFC; for `words` also in one letter case, with one space per run of white space."""
    text = stored_text(text)
    return text if folding == "verbatim" else _WHITE.sub(" ", text.casefold())


def occurs(quote: str, text: str, folding: Folding) -> bool:
    """Whether a text contains a quotation. Every text contains an empty one."""
    return _sought(quote, folding) in folded(text, folding)


def occurrences(quote: str, text: str, folding: Folding) -> Iterator[Range]:
    """The places of a quotation in a text, in order; two may overlap. An empty quotation has none."""
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
    """Maps the characters of a folded text to the original: by pieces first, and inside a piece only on demand."""

    def __init__(self, text: str, folding: Folding) -> None:
        self._folding = folding
        self._pieces = _PIECE.findall(text)
        self._starts = list(accumulate(map(len, self._pieces), initial=0))
        self._folded_starts = list(accumulate((len(folded(each, folding)) for each in self._pieces), initial=0))

    def start(self, at: int) -> int:
        """The start of the original character of the folded one at `at`."""
        return self._before(bisect_right(self._folded_starts, at) - 1, at)[0]

    def end(self, at: int) -> int:
        """The end of the original character of the folded one before `at`."""
        piece = bisect_right(self._folded_starts, at - 1) - 1
        place, is_whole = self._before(piece, at)
        return place if is_whole else place + 1

    def _before(self, piece: int, at: int) -> tuple[int, bool]:
        """The longest prefix of a piece that folds to at most `at` characters, and whether it folds to exactly `at`."""
        text, wanted = self._pieces[piece], at - self._folded_starts[piece]
        taken = bisect_right(range(len(text) + 1), wanted, key=lambda end: len(folded(text[:end], self._folding))) - 1
        return self._starts[piece] + taken, len(folded(text[:taken], self._folding)) == wanted
