"""The extractive answer: quotes pieces of passages, each with its marker and place, without a model.

A table row comes below its table's header, the first of several list items after its list mark. The shown text is the
source's, character for character. An ellipsis replaces lines that are left out (mere markup, and the rows between a
table's header and a row), and the lines of a page are joined to paragraphs. Only text that looks like a marker of this
answer is changed, to wide brackets; in code, which is in a separate block, it stays.
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
from kb.domain.search import Passage, Sentence
from kb.language.markup import masked
from kb.language.occurrences import occurs
from kb.language.pages import joined_lines
from kb.language.sentences import is_code
from kb.records import NamedTuple

# Shorter ones are titles and scare quotes.
_LEAST_QUOTE_CHARS = 6

_QUOTE = re.compile(r"\"([^\"\n]+)\"|“([^”\n]+)”|「([^」\n]+)」|『([^』\n]+)』")


def quotes_in(text: str) -> tuple[str, ...]:
    """The texts in quotation marks that are long enough to be quotations."""
    found = (next(part for part in match.groups() if part) for match in _QUOTE.finditer(text))
    return tuple(quote for quote in found if len(quote.strip()) >= _LEAST_QUOTE_CHARS)


def stands_in(quote: str, source: str) -> bool:
    """Whether a source contains a quotation, whose last punctuation may be that of the quoting sentence."""
    return occurs(quote.strip(" .,…"), source, "words")


def sentence_citation(passage: Passage, sentence: Sentence) -> Citation:
    """The place of a sentence: its lines, times or regions; the passage's place where it has none of these."""
    cited = passage.citation
    if passage.is_cited_by_place and (spans := json.loads(passage.source_spans_json)):
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
# Directives of site generators: includes, and the marks of their blocks.
_DIRECTIVE = re.compile(r"[ \t>]*(?:\{[*%#{].*[*%#}]\}|/{3,}.*|:{3,}.*)[ \t]*$")


_LEFT_OUT = "…"


class Piece(NamedTuple):
    """A piece to show. `place` is the n of its marker `[n]`."""

    passage: Passage
    sentence: Sentence
    place: int

    @property
    def in_code(self) -> bool:
        """Whether the piece is part of a code block."""
        return is_code(self.passage.text, self.sentence.start)

    @property
    def is_of_page(self) -> bool:
        """Whether the piece is from a page or a picture, which contain no markup."""
        return isinstance(self.passage.citation, (PageCitation, RegionCitation))

    def worded(self, text: str) -> str:
        """Text of the passage as it is shown: a page's lines joined."""
        return joined_lines(text) if self.is_of_page else text

    @property
    def table_head(self) -> str:
        """For a piece in a table row, the table's header with its ruler, and the row up to the piece; else empty."""
        text, start = self.passage.text, self.sentence.start
        begin = text.rfind("\n", 0, start) + 1
        above = text[:begin].split("\n")[:-1] if "|" in text[begin : self.sentence.end].split("\n")[0] else []
        rows = list(takewhile(lambda line: "|" in line, reversed(above)))[::-1]
        ruler = next((at for at, row in enumerate(rows) if at and _TABLE_RULER.fullmatch(row)), 0)
        between = ["| … |"] if ruler and ruler < len(rows) - 1 else []
        return "\n".join((rows[ruler - 1], rows[ruler], *between, text[begin:start])) if ruler else ""

    @property
    def item_mark(self) -> str:
        """The list mark of the item that the piece begins with, if the piece goes on to further lines; else empty."""
        text, start = self.passage.text, self.sentence.start
        before = text[text.rfind("\n", 0, start) + 1 : start]
        return before.lstrip(" \t>") if "\n" in self.sentence.text and _ITEM_MARK.fullmatch(before) else ""


def show_excerpts(pieces: Sequence[Piece]) -> str:
    """The text of an answer from whole pieces of passages, each with its marker, without lines of mere markup."""
    places = {piece.place for piece in pieces}
    return "\n\n".join(_excerpt(piece, places) for piece in pieces)


def _excerpt(piece: Piece, places: Collection[int]) -> str:
    """One piece with its marker, which follows a code block on a separate line."""
    text = piece.sentence.text if piece.in_code else (piece.table_head or piece.item_mark) + piece.sentence.text
    if piece.in_code:
        fence = next((mark[1] for mark in map(_FENCE.match, text.split("\n")) if mark), "```")
        text = f"{fence}\n{text}"
    text, marker = piece.worded(text), show_markers((piece.place,))
    shown = without_brackets(text, places) if piece.is_of_page else _readable(text, places)
    return f"{shown}\n{marker.strip()}" if _FENCE.match(shown.rpartition("\n")[2]) else shown + marker


def _readable(text: str, places: Collection[int]) -> str:
    """The lines with words, unchanged; an ellipsis for the lines between them without."""
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
    """An extractive answer: its claims with markers in order of first use, and the passages that the markers number.

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
