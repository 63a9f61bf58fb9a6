"""The extractive answer: the sentences of the passages that carry the answer, each with its marker; no model needed."""

from __future__ import annotations

from collections.abc import Sequence

from kb.answer.across import Similarity, choose_across
from kb.answer.extractive import Chosen, choose_sentences, fewest, sentence_citation
from kb.answer.judging import Excerpt
from kb.answer.listing import with_listing
from kb.answer.pieces import Piece, show_excerpts, show_pieces
from kb.answer.reading import read_chosen, reading_evidence
from kb.domain.answers.answer import Claim
from kb.domain.passages import Passage, TermWeight
from kb.records import NamedTuple

MAX_SENTENCES = 3
READ_PASSAGES = 5
"""Of the passages so many are read: further ones held no more answers (docs/answers.md)."""


class Quoted(NamedTuple):
    """An extractive answer: its claims with markers by first use, and the passages they number.

    The claims are word for word; `text` shows them as `kb.answer.pieces` does. `reading` is how likely the best
    sentence answers, read against the question; None where it was not.
    """

    text: str
    claims: tuple[Claim, ...]
    cited: tuple[Passage, ...]
    reading: float | None = None


def quote_answer(
    question: str, terms: Sequence[TermWeight], passages: Sequence[Passage], nearness: float | None, first: int = 1
) -> Quoted:
    """The fewest sentences, at most three, that carry the answer; `nearness` is that of the question's evidence."""
    chosen = choose_sentences(question, terms, passages[:READ_PASSAGES], limit=MAX_SENTENCES)
    if not chosen:
        return Quoted("", (), ())
    read = reading_evidence(read_chosen(question, chosen, passages, nearness))
    return _quote(fewest(chosen), passages, first)._replace(reading=read)


def quote_across(question: str, passages: Sequence[Passage], similarity: Similarity, first: int = 1) -> Quoted:
    """The fewest sentences, at most three, of passages in another language than the question, nearest first."""
    return _quote(fewest(choose_across(question, passages, similarity, limit=MAX_SENTENCES)), passages, first)


def quote_excerpts(excerpts: Sequence[Excerpt], first: int = 1) -> Quoted:
    """Pieces of passages, word for word, the most likely passage first, their markers counted from `first`."""
    cited = tuple(each.passage._replace(number=place) for place, each in enumerate(excerpts, first))
    claims = tuple(
        Claim(each.piece.text, (place,), "supported", each.piece.text, sentence_citation(each.passage, each.piece))
        for place, each in enumerate(excerpts, first)
    )
    pieces = [Piece(each.passage, each.piece, each.piece.end, place) for place, each in enumerate(excerpts, first)]
    return Quoted(show_excerpts(pieces), claims, cited)


def _quote(chosen: Sequence[Chosen], passages: Sequence[Passage], first: int) -> Quoted:
    """The chosen sentences with what they announce, best passage first; of one passage in its own order."""
    by_number = {passage.number: passage for passage in passages}
    order = list(dict.fromkeys(each.sentence.passage for each in chosen))
    cited = tuple(by_number[number]._replace(number=place) for place, number in enumerate(order, first))
    claims: list[Claim] = []
    pieces: list[Piece] = []
    for each in sorted(chosen, key=lambda each: (order.index(each.sentence.passage), each.sentence.start)):
        passage, place = by_number[each.sentence.passage], order.index(each.sentence.passage) + first
        sentence = with_listing(passage, each.sentence)
        if pieces and pieces[-1].passage == passage and sentence.start < pieces[-1].end:
            continue  # it is in the list before it
        pieces.append(Piece(passage, each.sentence, sentence.end, place))
        claims.append(Claim(sentence.text, (place,), "supported", sentence.text, sentence_citation(passage, sentence)))
    return Quoted(show_pieces(pieces), tuple(claims), cited)
