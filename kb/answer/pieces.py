"""Chooses what an answer shows of a passage: up to two pieces that answer, marked, and short surroundings.

A piece is a sentence, a list item with the items below it, a table row or a code block; where the question asks for a
list or for steps, or two items of one list answer best, the whole list or table. A sentence that ends in a colon, or a
label, takes along the list or code it announces, a very short one its better neighbour. Measured on questions with
known answers: `python -m benchmarks answers`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import takewhile
from typing import NamedTuple

from kb.answer.defining import definition_pattern, without_targets
from kb.answer.layout import is_row, item_head, items_below, line_at, list_around_item, rows_around
from kb.answer.words import Words, expectation, folded_term, words_of
from kb.domain.answers import PassageJudge
from kb.domain.search import Passage, Sentence, Term, TermWeight
from kb.domain.text import Range
from kb.language.definitions import defined_term
from kb.language.lists import pattern
from kb.language.sentences import MarkedLine, is_code, sentences, text_lines
from kb.retrieve.index import Index
from kb.retrieve.judged import LOGIT_WEIGHT
from kb.threads import submit

READ_PASSAGES = 5
"""How many of the first passages are read sentence by sentence."""

COMPARED_PASSAGES = 3
"""How many of the first passages a judge reads at most."""

SHOWN_CHARS = 400
"""The most characters that are shown of a passage, unless its pieces are longer."""

# The weights of a sentence's other features, relative to all its terms: the question's pairs of letters, which forgive
# endings, and a date, number, name, place or reason where the question asks for one. Then the weights of the judge's
# logit of a sentence and of words beside it.
_PAIRS, _EXPECTED = 0.3, 0.2
_READ_WEIGHT, _WORDS_WEIGHT = 0.1, 0.2

# A judge reads passages that score at most this much less than the first.
_COMPARED_GAP = 0.05

# A second piece scores at most this much less than the first.
_SECOND_GAP = 0.1
# Where all of a list is asked for, its items and what announces them gain so much.
_LISTED = 0.1
# Where a definition is asked for, the sentences that say what the term is gain so much.
_DEFINING = 0.1
# A sentence of fewer characters is marked with a neighbour of its paragraph, both in at most so many.
_SHORT_CHARS, _GROWN_CHARS = 60, 300
# Surroundings: later sentences are preferred by this much.
_GOES_ON = 0.1
# The most lines of a sentence, which may be of code, where only the best line is shown.
_BRIEF_LINES = 2
# The most characters of a list or table that is marked whole, and of an item with all below it; lines of a code block.
_LIST_CHARS, _ITEM_CHARS, _CODE_LINES = 900, 400, 12
# A label above a list has at most so many characters, and no end of a sentence.
_LABEL_CHARS = 60
_SENTENCE_ENDS = (".", "!", "?", "。")
_COLONS = (":", "：")

DIRECTIVE = re.compile(r"[ \t>]*(?:\{[*%#{].*[*%#}]\}|/{3,}.*|:{3,}.*)[ \t]*$")
"""A line that is a directive of a site generator: an include, or a mark of its blocks."""


class Excerpt(NamedTuple):
    """The part of a passage that an answer shows: its pieces, the best one first, and the ranges of text with them.

    `best` is the best sentence and `score` its score (higher is better). `logit` is a judge's score that the passage
    answers, None if no judge has read it.
    """

    passage: Passage
    pieces: tuple[Sentence, ...]
    shown: tuple[Range, ...]
    best: Sentence
    score: float
    logit: float | None = None

    def text(self) -> str:
        """The text of the shown ranges, separated by line ends."""
        return "\n".join(self.passage.text[start:end] for start, end in self.shown)

    def brief(self) -> Excerpt:
        """The excerpt reduced to the first lines of its best sentence."""
        text = "\n".join(self.best.text.split("\n")[:_BRIEF_LINES]).rstrip()
        line = self.best._replace(text=text, end=self.best.start + len(text))
        return self._replace(pieces=(line,), shown=((line.start, line.end),))

    def alone(self) -> Excerpt:
        """The excerpt reduced to its pieces, without surroundings; two adjacent pieces become one range."""
        ranges = [(piece.start, piece.end) for piece in self.pieces]
        start, end = min(ranges)[0], max(ranges)[1]
        between = self.passage.text[min(ranges)[1] : max(ranges)[0]]
        is_whole = len(ranges) > 1 and not between.strip(" \t\n>|")
        return self._replace(shown=((start, end),) if is_whole else tuple(ranges))


def term_weights(index: Index, terms: Sequence[Term]) -> tuple[TermWeight, ...]:
    """The terms with their rarity, which is above 0 even for a word that every passage has."""
    return tuple(TermWeight(term.text, row.idf) for term, row in zip(terms, index.term_counts(terms), strict=True))


def sentence_words(question: str, terms: Sequence[TermWeight], passage: Passage) -> list[tuple[Sentence, float]]:
    """Every sentence of a passage with its score by the question's words, 0 to 1.5; terms are weighted by rarity."""
    asked = words_of(question)
    expected = expectation(asked.words)
    pairs = {word[at : at + 2].lower() for word in asked.words for at in range(len(word) - 1)}
    weights = folded_weights(terms)
    total = sum(weights.values()) or 1.0
    scored = []
    for sentence in sentences(passage):
        if DIRECTIVE.match(sentence.text) and not is_code(passage.text, sentence.start):  # it is not shown
            continue
        words = words_of(sentence.text)
        score = sum(weights[term] for term in sorted(found_terms(words, weights))) / total
        score += _PAIRS * sum(pair in words.folded for pair in pairs) / (len(pairs) or 1)
        score += _EXPECTED * expected.is_met_by(sentence.text, words.words)
        scored.append((sentence, score))
    return scored


def folded_weights(terms: Sequence[TermWeight]) -> dict[str, float]:
    """The terms in folded form with their idf; if several terms fold to the same form, the highest idf counts."""
    weights: dict[str, float] = {}
    for term, idf in terms:
        folded = folded_term(term)
        weights[folded] = max(idf, weights.get(folded, 0.0))
    return weights


def found_terms(words: Words, weights: Mapping[str, float]) -> frozenset[str]:
    """The weighted terms that a text contains."""
    return frozenset(term for term in weights if words.has(term))


def read_excerpts(
    question: str, terms: Sequence[TermWeight], passages: Sequence[Passage], judge: PassageJudge | None
) -> tuple[Excerpt, ...]:
    """The excerpt of each passage that has sentences, the likeliest first.

    The question's words choose the pieces of a passage. A judge reads up to `COMPARED_PASSAGES` passages that score
    nearly as high as the first: each as a whole, to choose its pieces, then these alone; by the mean of both logits.
    """
    scored = [(each, sentence_words(question, terms, each)) for each in passages]
    scored = [each for each in scored if each[1]]
    if judge is None or not scored:
        return tuple(choose_pieces(question, *each) for each in scored)
    least = scored[0][0].score - _COMPARED_GAP
    near = list(takewhile(lambda each: each[0].score >= least, scored[:COMPARED_PASSAGES]))
    begun = [submit(partial(_read, question, *each, judge)) for each in near[1:]]
    read = [_read(question, *near[0], judge), *(wait() for wait in begun)]
    read.sort(key=lambda each: -each.passage.score - LOGIT_WEIGHT * (each.logit or 0))
    others = (choose_pieces(question, *each) for each in scored[len(near) :])
    return (*read, *others)


def _read(question: str, passage: Passage, by_words: Sequence[tuple[Sentence, float]], judge: PassageJudge) -> Excerpt:
    """The excerpt of the pieces that a judge finds likely, with the mean logit of both readings."""
    whole = judge.read(question, passage, [sentence for sentence, _ in by_words])
    chosen = choose_pieces(question, passage, _joined(by_words, whole.sentences))
    alone = judge.read(question, passage._replace(text=chosen.alone().text()), ())
    return chosen._replace(logit=(whole.score + alone.score) / 2)


def _joined(by_words: Sequence[tuple[Sentence, float]], logits: Sequence[float]) -> list[tuple[Sentence, float]]:
    return [
        (sentence, _READ_WEIGHT * logit + _WORDS_WEIGHT * score)
        for (sentence, score), logit in zip(by_words, logits, strict=True)
    ]


def choose_pieces(question: str, passage: Passage, scored: Sequence[tuple[Sentence, float]]) -> Excerpt:
    """The pieces of a passage that answer best, by the scores of its sentences in order, and their surroundings."""
    text, lines = passage.text, tuple(text_lines(passage.text))
    term = defined_term(" ".join(question.split()))
    wants_all = term is None and pattern("expectations", "asks all").search(question) is not None
    if wants_all:
        scored = [(each, score + _LISTED * _is_listed(text, lines, each)) for each, score in scored]
    elif term is not None:
        defines = definition_pattern(term, passage).search
        scored = [
            (each, score + _DEFINING * (defines(without_targets(each.text)) is not None)) for each, score in scored
        ]
    order = sorted(range(len(scored)), key=lambda at: (-scored[at][1], at))
    best, score = scored[order[0]]
    pieces = [_piece(text, lines, scored, order[0], wants_all)]
    for at in order[1:]:
        if score - scored[at][1] > _SECOND_GAP:
            break
        if not _lies_in(scored[at][0], pieces):
            pieces.append(_piece(text, lines, scored, at, wants_all))
            if (whole := _list_around(text, lines, best, scored[at][0])) is not None:
                pieces = [whole]
            break
    if len(_merged(pieces)) < len(pieces):
        pieces = _merged(pieces)
    shown = _surroundings(text, lines, scored, pieces)
    return Excerpt(passage, tuple(_sentence(passage, piece) for piece in pieces), tuple(shown), best, score)


def _sentence(passage: Passage, at: Range) -> Sentence:
    start, end = at
    return Sentence(passage.number, start, end, passage.text[start:end])


def _lies_in(sentence: Sentence, ranges: Sequence[Range]) -> bool:
    return any(start <= sentence.start and sentence.end <= end for start, end in ranges)


def _merged(ranges: Sequence[Range]) -> list[Range]:
    """The ranges in order, with overlapping ones merged."""
    merged: list[Range] = []
    for start, end in sorted(ranges):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _surroundings(
    text: str, lines: Sequence[MarkedLine], scored: Sequence[tuple[Sentence, float]], pieces: Sequence[Range]
) -> list[Range]:
    """The pieces with the best sentences beside them, up to `SHOWN_CHARS`, and the lists that these announce."""
    shown = {at for at, (sentence, _) in enumerate(scored) if any(s <= sentence.start < e for s, e in pieces)}
    left = SHOWN_CHARS - sum(end - start for start, end in pieces)
    while True:
        beside = [
            (score + _GOES_ON * (at - 1 in shown), at)
            for at, (sentence, score) in enumerate(scored)
            if at not in shown and {at - 1, at + 1} & shown and sentence.end - sentence.start <= left
        ]
        if not beside:
            break
        at = max(beside)[1]
        shown.add(at)
        left -= scored[at][0].end - scored[at][0].start
    ranges: list[Range] = []
    for at in sorted(shown):
        start, end = scored[at][0].start, scored[at][0].end
        if at - 1 in shown:
            start = ranges.pop()[0]
        ranges.append((start, end))
    announced = [
        _announced(text, lines, line_at(lines, end), (start, end)) for start, end in ranges if _is_open(text, end)
    ]
    return _merged([*ranges, *pieces, *announced])


# --- one piece --------------------------------------------------------------------------------------------------------


def _piece(
    text: str, lines: Sequence[MarkedLine], scored: Sequence[tuple[Sentence, float]], best: int, wants_all: bool
) -> Range:
    """The list item, list, table or code block that contains a sentence; else the sentence itself."""
    sentence = scored[best][0]
    first, last = line_at(lines, sentence.start), line_at(lines, sentence.end)
    alone = sentence.start, sentence.end
    if is_code(text, sentence.start):
        return _code_block(text, lines, first, last, alone)
    if is_row(text, lines[first]):
        return _bounded(rows_around(text, lines, first, last), alone) if wants_all else alone
    head = item_head(lines, first)
    if head is not None:
        below = items_below(text, lines, head)
        item = min(sentence.start, lines[head].content), max(sentence.end, lines[below].end)
        return _bounded(list_around_item(text, lines, head), _item(item, alone)) if wants_all else _item(item, alone)
    if _announces(text, lines, last, sentence):
        return _announced(text, lines, last, alone)
    return _led(text, scored, best) or _grown(text, scored, best)


def _is_listed(text: str, lines: Sequence[MarkedLine], sentence: Sentence) -> bool:
    """Whether a sentence is in a list, or announces one."""
    if is_code(text, sentence.start):
        return False
    return item_head(lines, line_at(lines, sentence.start)) is not None or _announces(
        text, lines, line_at(lines, sentence.end), sentence
    )


def _list_around(text: str, lines: Sequence[MarkedLine], *sentences: Sentence) -> Range | None:
    """The list that contains all these sentences in its items; None if there is none, or if it is too long."""
    lists = set()
    for each in sentences:
        head = None if is_code(text, each.start) else item_head(lines, line_at(lines, each.start))
        if head is None:
            return None
        lists.add(list_around_item(text, lines, head))
    (start, end), *others = lists
    return None if others or end - start > _LIST_CHARS else (start, end)


def _announces(text: str, lines: Sequence[MarkedLine], last: int, sentence: Sentence) -> bool:
    """Whether a sentence ends in a colon, or is a label: a short line above a list that has no end of a sentence."""
    below = next((line for line in lines[last + 1 : last + 3] if line.kind != "blank"), None)
    is_above = (
        below is not None and below.kind in ("item", "fence") and not text[sentence.end : lines[last].end].strip()
    )
    if _is_open(text, sentence.end) or (is_above and pattern("expectations", "announces").search(sentence.text)):
        return True
    said = sentence.text.rstrip("*_ ")
    is_line = not text[lines[last].start : sentence.start].strip() and (not last or lines[last - 1].kind != "text")
    is_label = is_line and len(said) <= _LABEL_CHARS and not said.endswith(_SENTENCE_ENDS)
    return is_label and lines[last].kind == "text" and below is not None and below.kind == "item"


def _is_open(text: str, end: int) -> bool:
    """Whether a text breaks off after a colon."""
    return text[max(0, end - 10) : end].rstrip("*_ \n").endswith(_COLONS)


def _bounded(whole: Range, otherwise: Range) -> Range:
    return whole if whole[1] - whole[0] <= _LIST_CHARS else otherwise


def _item(whole: Range, alone: Range) -> Range:
    return whole if whole[1] - whole[0] <= _ITEM_CHARS else alone


def _grown(text: str, scored: Sequence[tuple[Sentence, float]], at: int) -> Range:
    """The range of a sentence; a very short sentence is joined with the better of its neighbours in the paragraph."""
    start, end = scored[at][0].start, scored[at][0].end
    if end - start >= _SHORT_CHARS:
        return start, end
    beside = []
    for other in (at - 1, at + 1):
        if 0 <= other < len(scored):
            grown = min(start, scored[other][0].start), max(end, scored[other][0].end)
            if grown[1] - grown[0] <= _GROWN_CHARS and "\n\n" not in text[grown[0] : grown[1]]:
                beside.append((scored[other][1] + _GOES_ON * (other > at), grown))
    return max(beside)[1] if beside else (start, end)


def _led(text: str, scored: Sequence[tuple[Sentence, float]], at: int) -> Range | None:
    """The range of a sentence with the question before it, or of a question with the sentence behind it; None if
    neither is in its paragraph.
    """
    first = at if _asks(scored[at][0]) else at - 1
    if first < 0 or first + 1 >= len(scored) or not _asks(scored[first][0]):
        return None
    start, end = scored[first][0].start, scored[first + 1][0].end
    return (start, end) if end - start <= _GROWN_CHARS and "\n\n" not in text[start:end] else None


def _asks(sentence: Sentence) -> bool:
    return sentence.text.rstrip("*_\"'”’」 ").endswith(("?", "？"))


def _code_block(text: str, lines: Sequence[MarkedLine], first: int, last: int, alone: Range) -> Range:
    """The code between the fences around a sentence, unless it is long."""
    begin = next((n for n in range(first, 0, -1) if lines[n - 1].kind == "fence"), first)
    end = next((n for n in range(last, len(lines) - 1) if lines[n + 1].kind == "fence"), last)
    return (lines[begin].start, lines[end].end) if end - begin < _CODE_LINES else alone


def _announced(text: str, lines: Sequence[MarkedLine], last: int, alone: Range) -> Range:
    """The range of a sentence that ends in a colon, together with the list or code below it."""
    below = next((at for at in range(last + 1, len(lines)) if lines[at].kind != "blank"), None)
    if below is None:
        return alone
    if lines[below].kind == "item":
        return _bounded((alone[0], list_around_item(text, lines, below)[1]), alone)
    end = next((at for at in range(below + 1, len(lines)) if lines[at].kind == "fence"), None)
    if lines[below].kind == "fence" and end is not None and end - below - 1 <= _CODE_LINES:
        return alone[0], lines[end].end
    return alone
