"""The extractive answer: pieces of the passages that carry the answer, each with its marker; no model needed."""

from __future__ import annotations

from collections.abc import Sequence

from kb.answer.judging import Excerpt
from kb.answer.pieces import Piece, show_excerpts
from kb.answer.quotations import sentence_citation
from kb.domain.answers.answer import Claim
from kb.domain.passages import Passage
from kb.records import NamedTuple


class Quoted(NamedTuple):
    """An extractive answer: its claims with markers by first use, and the passages they number.

    The claims are word for word; `text` shows them as `kb.answer.pieces` does.
    """

    text: str
    claims: tuple[Claim, ...]
    cited: tuple[Passage, ...]


def quote_excerpts(excerpts: Sequence[Excerpt], first: int = 1) -> Quoted:
    """Pieces of passages, word for word, the most likely passage first, their markers counted from `first`."""
    cited = tuple(each.passage._replace(number=place) for place, each in enumerate(excerpts, first))
    claims = tuple(
        Claim(each.piece.text, (place,), "supported", each.piece.text, sentence_citation(each.passage, each.piece))
        for place, each in enumerate(excerpts, first)
    )
    pieces = [Piece(each.passage, each.piece, place) for place, each in enumerate(excerpts, first)]
    return Quoted(show_excerpts(pieces), claims, cited)
