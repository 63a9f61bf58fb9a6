"""Checks that the pieces of a sure answer hold what the kind of question asks for.

What is X? is answered where a piece defines X, how many by a number, a comparison by both sides, kinds of X by a list
that does not have X itself as an item. A sentence that only announces what follows answers nothing. The judge sees none
of this: it finds every sentence about X likely.
"""

from __future__ import annotations

import re
from typing import Literal

from kb.answer.defining import definition_pattern, is_headed_by, without_targets
from kb.answer.pieces import Excerpt
from kb.answer.questions import split_question
from kb.answer.words import folded_term, words_of
from kb.domain.text import stored_text
from kb.language.definitions import defined_term
from kb.language.lists import is_stopword, pattern
from kb.language.sentences import sentence_ranges

Lack = Literal["definition", "number", "comparison", "kinds", "steps", "announced"]

_LIST = "proofs"
_WORD = re.compile(r"[^\W_]+")
_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s")


def lacking(question: str, excerpt: Excerpt, is_own: bool) -> Lack | None:
    """What the pieces of an excerpt lack of what a question asks for; None if nothing.

    Definitions and comparisons are checked by words: only where the passage is in the question's language (`is_own`).
    """
    text = " ".join(stored_text(question).split())
    pieces = "\n".join(piece.text for piece in excerpt.pieces)
    if is_own and (term := defined_term(text)) is not None and not _is_defined(term, pieces, excerpt):
        return "definition"
    if is_own and not _has_sides(text, pieces):
        return "comparison"
    if pattern(_LIST, "counted", re.IGNORECASE).search(text) and not pattern(_LIST, "number").search(pieces):
        return "number"
    if _is_one_of_others(text, pieces, excerpt):
        return "kinds"
    if pattern(_LIST, "how", re.IGNORECASE).search(text) and _all_are(pieces, "only_defines"):
        return "steps"
    return "announced" if _all_are(pieces, "announces") else None


def _is_defined(term: str, pieces: str, excerpt: Excerpt) -> bool:
    """Whether the pieces say what a term is, by any name in its heading, or begin the section under that heading."""
    passage = excerpt.passage
    if definition_pattern(term, passage).search(without_targets(pieces)):
        return True
    first, _ = next(sentence_ranges(passage.text))
    return is_headed_by(term, passage) and any(piece.start <= first for piece in excerpt.pieces)


def _has_sides(question: str, pieces: str) -> bool:
    """Whether the pieces hold every word of both sides that a question compares; True if it compares nothing."""
    words = words_of(pieces)
    sides = (each.search_text for each in split_question(question) if each.why == "side")
    return all(words.has(folded_term(word)) for side in sides for word in _WORD.findall(side) if not is_stopword(word))


def _is_one_of_others(question: str, pieces: str, excerpt: Excerpt) -> bool:
    """Whether a question wants the kinds of a thing, and the pieces are a list of which it is one item."""
    match = pattern(_LIST, "kinds", re.IGNORECASE).search(question)
    if match is None:
        return False
    asked = [folded_term(word) for word in _WORD.findall(" ".join(filter(None, match.groups())))]
    lines = [line for line in pieces.splitlines() if line.strip()]
    items = [words_of(line) for line in lines if _ITEM.match(line)]
    above = [line for line in lines if not _ITEM.match(line)]
    around = words_of(" ".join((excerpt.passage.title, *excerpt.passage.heading_path, *above)))
    naming = sum(all(map(item.has, asked)) for item in items)
    return naming == 1 and len(items) > 2 and not all(map(around.has, asked))


def _all_are(pieces: str, kind: str) -> bool:
    """Whether every sentence of the pieces has a pattern of that kind."""
    said = [pieces[start:end] for start, end in sentence_ranges(pieces)]
    return bool(said) and all(pattern(_LIST, kind, re.IGNORECASE).search(each) for each in said)
