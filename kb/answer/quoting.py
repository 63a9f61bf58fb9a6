"""The extractive answer: quotes passages, each with its marker and place, without a model.

The pieces that answer (`kb.answer.pieces`) are the claims; the text of the answer also shows their surroundings. A
table row is shown below its table's header, and the first of several list items after its list mark. The shown text is
the source's, character for character, except for three changes. An ellipsis replaces omitted text (sentences between
two pieces, lines of mere markup, rows between a header and a row). The lines of a PDF page are joined to paragraphs.
Text that looks like a marker of this answer gets wide brackets, except in code, which is in a separate block.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from itertools import takewhile
from typing import NamedTuple

from kb.answer.generated_text import show_markers, without_brackets
from kb.answer.pieces import DIRECTIVE, Excerpt
from kb.domain.answers import Claim
from kb.domain.citations import Citation, CodeCitation, LineCitation, PageCitation, RegionCitation, cite
from kb.domain.search import Passage, Sentence
from kb.domain.text import Range
from kb.language.markup import masked
from kb.language.occurrences import occurs
from kb.language.pages import joined_lines
from kb.language.sentences import is_code

# Shorter ones are titles and scare quotes.
_LEAST_QUOTE_CHARS = 6

_QUOTE = re.compile(r"\"([^\"\n]+)\"|“([^”\n]+)”|「([^」\n]+)」|『([^』\n]+)』")


def quotes_in(text: str) -> tuple[str, ...]:
    """The texts in quotation marks that are long enough to be quotations."""
    found = (next(part for part in match.groups() if part) for match in _QUOTE.finditer(text))
    return tuple(quote for quote in found if len(quote.strip()) >= _LEAST_QUOTE_CHARS)


def stands_in(quote: str, source: str) -> bool:
    """Whether a source contains a quotation, whose last punctuation mark may belong to the quoting sentence."""
    return occurs(quote.strip(" .,…"), source, "words")


def sentence_citation(passage: Passage, sentence: Sentence) -> Citation:
    """The citation of a sentence by its lines, times or regions; without any, the passage's citation."""
    cited = passage.citation
    if passage.is_cited_by_place and (spans := json.loads(passage.source_spans_json)):
        origin = spans[0]["char_start"]
        own = [
            each
            for each in spans
            if each["char_start"] < sentence.end + origin and each["char_end"] > sentence.start + origin
        ]
        return cite(cited.path, own or spans, passage.section_label)
    if isinstance(cited, CodeCitation):
        first = cited.line_start + passage.text.count("\n", 0, sentence.start)
        return cited._replace(line_start=first, line_end=first + sentence.text.count("\n"))
    if not isinstance(cited, LineCitation):
        return cited
    start = cited.start + passage.text.count("\n", 0, sentence.start)
    return cited._replace(start=start, end=start + sentence.text.count("\n"))


_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})")
# Blank lines between two rows, as where markup was: not before a row with a ruler, which begins another table.
_ROWS_APART = re.compile(r"(?<=\|)[ \t]*\n(?:[ \t]*\n)+(?=[ \t]*\|)(?![^\n]+\n[ \t]*\|?[ \t:]*-)")
_TABLE_RULER = re.compile(r"[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_ITEM_MARK = re.compile(r"[ \t>]*(?:[-*+•]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")

_LEFT_OUT = "…"


def show_excerpt(excerpt: Excerpt, place: int, places: Collection[int]) -> str:
    """The shown text of an excerpt with its marker, which is on a separate line after a code block or a table.

    `places` are the numbers that count as markers, so that other text in such brackets has to be changed.
    """
    shown = f"\n{_LEFT_OUT}\n".join(_shown(excerpt.passage, each, places) for each in excerpt.shown)
    marker = show_markers((place,))
    return f"{shown}\n{marker.strip()}" if _FENCE.match(shown.rpartition("\n")[2]) else shown + marker


def _shown(passage: Passage, part: Range, places: Collection[int]) -> str:
    """A range of a passage as shown: without lines of mere markup, below its table's header or after its list mark."""
    text, (start, end) = passage.text, part
    part_text = text[start:end]
    if isinstance(passage.citation, (PageCitation, RegionCitation)):  # a page and a picture contain no markup
        return without_brackets(joined_lines(_table_head(text, start, end) + part_text), places)
    if is_code(text, start):
        fence = next((mark[1] for mark in map(_FENCE.match, part_text.split("\n")) if mark), "```")
        return _readable(f"{fence}\n{part_text}", places)
    return _readable((_table_head(text, start, end) or _item_mark(text, start, end)) + part_text, places)


def _table_head(text: str, start: int, end: int) -> str:
    """The header and ruler of the table in which a range begins, and the row up to the range; "" outside of tables."""
    begin = text.rfind("\n", 0, start) + 1
    above = text[:begin].split("\n")[:-1] if "|" in text[begin:end].split("\n")[0] else []
    rows = list(takewhile(lambda line: "|" in line, reversed(above)))[::-1]
    ruler = next((at for at, row in enumerate(rows) if at and _TABLE_RULER.fullmatch(row)), 0)
    between = ["| … |"] if ruler and ruler < len(rows) - 1 else []
    return "\n".join((rows[ruler - 1], rows[ruler], *between, text[begin:start])) if ruler else ""


def _item_mark(text: str, start: int, end: int) -> str:
    """The list mark of the item with which a range begins, if the range has further lines; else ""."""
    before = text[text.rfind("\n", 0, start) + 1 : start]
    return before.lstrip(" \t>") if "\n" in text[start:end] and _ITEM_MARK.fullmatch(before) else ""


def _readable(text: str, places: Collection[int]) -> str:
    """The lines with words, unchanged and with table rows together; an ellipsis replaces the lines between them."""
    if not any(map(_FENCE.match, text.split("\n"))):
        text = _ROWS_APART.sub("\n", text)
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
            if line.strip() and (DIRECTIVE.match(line) or not said.strip(" \t>")):
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


UNSURE_LINES = 20
"""The most lines of an answer that kb is not sure of."""


def quote_briefly(excerpts: Sequence[Excerpt], first: int = 1) -> Quoted:
    """Quotes the excerpts in at most `UNSURE_LINES` lines.

    If they do not fit, the other excerpts are cut to their best lines, the first to its pieces, then others dropped.
    """
    best, others = excerpts[:1], excerpts[1:]
    lines, pieces = [each.brief() for each in others], [each.alone() for each in best]
    fewer = [[*pieces, *lines[:count]] for count in range(len(lines), -1, -1)]
    for fitting in ([*best, *others], [*best, *lines], *fewer):
        quoted = quote_excerpts(fitting, first)
        if quoted.text.count("\n") < UNSURE_LINES:
            break
    return quoted


def quote_excerpts(excerpts: Sequence[Excerpt], first: int = 1) -> Quoted:
    """Quotes the pieces of passages with their surroundings, the most likely passage first.

    Markers count from `first`; each piece is a claim.
    """
    numbered = tuple(enumerate(excerpts, first))
    claims = tuple(
        Claim(piece.text, (place,), "supported", piece.text, sentence_citation(each.passage, piece))
        for place, each in numbered
        for piece in each.pieces
    )
    places = {place for place, _ in numbered}
    text = "\n\n".join(show_excerpt(each, place, places) for place, each in numbered)
    return Quoted(text, claims, tuple(each.passage._replace(number=place) for place, each in numbered))
