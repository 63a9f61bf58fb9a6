"""The extractive answer: pieces of the passages that carry the answer, each with its marker and place; no model needed.

Above the row of a table stands its header, before the first of several items its mark.
What is shown is the text of the source, character for character. Lines that are left out (of mere markup, and the rows
between the header of a table and a row) are marked with an ellipsis, and the lines of a page are joined to their
paragraph. One thing is written otherwise: what reads as a marker of this very answer is in wide brackets, except
in code, which is in a block of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from itertools import takewhile

from kb.answer.generated_text import show_markers, without_brackets
from kb.answer.judging import Excerpt
from kb.domain.answers import Claim
from kb.domain.citations import Citation, CodeCitation, LineCitation, PageCitation, RegionCitation, cite
from kb.domain.passages import Passage, Sentence
from kb.language.markup import masked
from kb.language.occurrences import occurs
from kb.language.pages import joined_lines
from kb.language.sentences import is_code
from kb.records import NamedTuple

# Shorter ones are titles and scare quotes.
_LEAST_QUOTE_CHARS = 6

_QUOTE = re.compile(r"\"([^\"\n]+)\"|“([^”\n]+)”|「([^」\n]+)」|『([^』\n]+)』")


def quotes_in(text: str) -> tuple[str, ...]:
    """What a text puts in quotation marks, where it is long enough to be a quotation."""
    found = (next(part for part in match.groups() if part) for match in _QUOTE.finditer(text))
    return tuple(quote for quote in found if len(quote.strip()) >= _LEAST_QUOTE_CHARS)


def stands_in(quote: str, source: str) -> bool:
    """Whether a source says what a sentence quotes, whose own punctuation may close the quotation."""
    return occurs(quote.strip(" .,…"), source, "words")


def sentence_citation(passage: Passage, sentence: Sentence) -> Citation:
    """Where a sentence stands: its own lines, moments or regions; the passage's place in what has none of these."""
    cited = passage.citation
    if passage.spans_json:
        spans = json.loads(passage.spans_json)
        origin = spans[0]["char_start"]
        own = [
            each
            for each in spans
            if each["char_start"] < sentence.end + origin and each["char_end"] > sentence.start + origin
        ]
        return cite(cited.path, own or spans, None)
    if isinstance(cited, CodeCitation):
        first = cited.line_start + passage.text.count("\n", 0, sentence.start)
        return cited._replace(line_start=first, line_end=first + sentence.text.count("\n"))
    if not isinstance(cited, LineCitation):
        return cited
    start = cited.start + passage.text.count("\n", 0, sentence.start)
    return cited._replace(start=start, end=start + sentence.text.count("\n"))


_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})")
_TABLE_RULER = re.compile(r"[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_ITEM_MARK = re.compile(r"[ \t>]*(?:[-*+•]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
# What a site generator reads: includes, and the marks of its own blocks.
_DIRECTIVE = re.compile(r"[ \t>]*(?:\{[*%#{].*[*%#}]\}|/{3,}.*|:{3,}.*)[ \t]*$")


_LEFT_OUT = "…"


class Piece(NamedTuple):
    """A piece to show. `place` is the n of its marker `[n]`."""

    passage: Passage
    sentence: Sentence
    place: int

    @property
    def in_code(self) -> bool:
        """Whether it is a piece of a block of code itself."""
        return is_code(self.passage.text, self.sentence.start)

    @property
    def is_of_page(self) -> bool:
        """Whether it is of a page or a picture, in which nothing is markup."""
        return isinstance(self.passage.citation, (PageCitation, RegionCitation))

    def worded(self, text: str) -> str:
        """Words of the passage as they are shown: a page's lines joined."""
        return joined_lines(text) if self.is_of_page else text

    @property
    def table_head(self) -> str:
        """What a row of a table is read by: the table's header with its ruler, and the row up to here; else empty."""
        text, start = self.passage.text, self.sentence.start
        begin = text.rfind("\n", 0, start) + 1
        above = text[:begin].split("\n")[:-1] if "|" in text[begin : self.sentence.end].split("\n")[0] else []
        rows = list(takewhile(lambda line: "|" in line, reversed(above)))[::-1]
        ruler = next((at for at, row in enumerate(rows) if at and _TABLE_RULER.fullmatch(row)), 0)
        between = ["| … |"] if ruler and ruler < len(rows) - 1 else []
        return "\n".join((rows[ruler - 1], rows[ruler], *between, text[begin:start])) if ruler else ""

    @property
    def item_mark(self) -> str:
        """The mark of the item it begins with where it goes on to further lines; else empty."""
        text, start = self.passage.text, self.sentence.start
        before = text[text.rfind("\n", 0, start) + 1 : start]
        return before.lstrip(" \t>") if "\n" in self.sentence.text and _ITEM_MARK.fullmatch(before) else ""


def show_excerpts(pieces: Sequence[Piece]) -> str:
    """The text of an answer made of whole pieces of passages, each with its marker; lines of mere markup left out."""
    places = {piece.place for piece in pieces}
    return "\n\n".join(_excerpt(piece, places) for piece in pieces)


def _excerpt(piece: Piece, places: Collection[int]) -> str:
    """One piece with its marker, which stands on a line of its own behind a block of code."""
    text = piece.sentence.text if piece.in_code else (piece.table_head or piece.item_mark) + piece.sentence.text
    if piece.in_code:
        fence = next((mark[1] for mark in map(_FENCE.match, text.split("\n")) if mark), "```")
        text = f"{fence}\n{text}"
    text, marker = piece.worded(text), show_markers((piece.place,))
    shown = without_brackets(text, places) if piece.is_of_page else _readable(text, places)
    return f"{shown}\n{marker.strip()}" if _FENCE.match(shown.rpartition("\n")[2]) else shown + marker


def _readable(text: str, places: Collection[int]) -> str:
    """The lines that say something, as they are; an ellipsis for those between them that do not."""
    lines: list[str] = []
    fence = ""
    is_left_out = False
    for line, said in zip(text.split("\n"), masked(text).split("\n"), strict=True):
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif not fence and not mark:
            if not line.strip() and lines and not lines[-1].strip():
                continue
            if line.strip() and (_DIRECTIVE.match(line) or not said.strip(" \t>")):
                is_left_out = bool(lines)
                continue
            line = without_brackets(line, places)
        if is_left_out and line.strip():
            lines.append(_LEFT_OUT)
            is_left_out = False
        lines.append(line)
    if fence:
        lines.append(fence)
    return "\n".join(lines).strip("\n")


class Quoted(NamedTuple):
    """An extractive answer: its claims with markers by first use, and the passages they number.

    The claims are word for word; `text` shows them as `kb.answer.quoting` does.
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
