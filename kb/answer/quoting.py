"""The extractive answer: quotes passages, each with its marker and place, without a model.

The pieces that answer (`kb.answer.pieces`) are its claims; its text shows their surroundings too. A table row comes
below its table's header, the first of several list items after its list mark. The shown text is the source's, character
for character. An ellipsis replaces what is left out (sentences between two pieces, lines of mere markup, and the rows
between a table's header and a row), and the lines of a page are joined to paragraphs. Only text that looks like a
marker of this answer is changed, to wide brackets; in code, which is in a separate block, it stays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from itertools import takewhile

from kb.answer.generated_text import show_markers, without_brackets
from kb.answer.pieces import Excerpt
from kb.domain.answers import Claim
from kb.domain.citations import Citation, CodeCitation, LineCitation, PageCitation, RegionCitation, cite
from kb.domain.search import Passage, Sentence
from kb.domain.text import Range
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
# Directives of site generators: includes, and the marks of their blocks.
_DIRECTIVE = re.compile(r"[ \t>]*(?:\{[*%#{].*[*%#}]\}|/{3,}.*|:{3,}.*)[ \t]*$")


_LEFT_OUT = "…"


def show_excerpt(excerpt: Excerpt, place: int, places: Collection[int]) -> str:
    """What is shown of a passage with its marker, which follows a code block or a table on a separate line.

    `places` are the numbers that a text in brackets would be taken for.
    """
    shown = f"\n{_LEFT_OUT}\n".join(_shown(excerpt.passage, each, places) for each in excerpt.shown)
    marker = show_markers((place,))
    return f"{shown}\n{marker.strip()}" if _FENCE.match(shown.rpartition("\n")[2]) else shown + marker


def _shown(passage: Passage, part: Range, places: Collection[int]) -> str:
    """A range of a passage without lines of mere markup, below the header of its table or behind its list mark."""
    text, (start, end) = passage.text, part
    part_text = text[start:end]
    if isinstance(passage.citation, (PageCitation, RegionCitation)):  # a page and a picture contain no markup
        return without_brackets(joined_lines(_table_head(text, start, end) + part_text), places)
    if is_code(text, start):
        fence = next((mark[1] for mark in map(_FENCE.match, part_text.split("\n")) if mark), "```")
        return _readable(f"{fence}\n{part_text}", places)
    return _readable((_table_head(text, start, end) or _item_mark(text, start, end)) + part_text, places)


def _table_head(text: str, start: int, end: int) -> str:
    """For a range that begins in a table row, the table's header with its ruler, and the row up to it; else empty."""
    begin = text.rfind("\n", 0, start) + 1
    above = text[:begin].split("\n")[:-1] if "|" in text[begin:end].split("\n")[0] else []
    rows = list(takewhile(lambda line: "|" in line, reversed(above)))[::-1]
    ruler = next((at for at, row in enumerate(rows) if at and _TABLE_RULER.fullmatch(row)), 0)
    between = ["| … |"] if ruler and ruler < len(rows) - 1 else []
    return "\n".join((rows[ruler - 1], rows[ruler], *between, text[begin:start])) if ruler else ""


def _item_mark(text: str, start: int, end: int) -> str:
    """The list mark of the item that the range begins with, if the range goes on to further lines; else empty."""
    before = text[text.rfind("\n", 0, start) + 1 : start]
    return before.lstrip(" \t>") if "\n" in text[start:end] and _ITEM_MARK.fullmatch(before) else ""


def _readable(text: str, places: Collection[int]) -> str:
    """The lines with words, unchanged, rows of a table together; an ellipsis for the lines between them without."""
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


UNSURE_LINES = 20
"""The most lines of an answer that kb is not sure of."""


def quote_briefly(excerpts: Sequence[Excerpt], first: int = 1) -> Quoted:
    """The passages, word for word, in `UNSURE_LINES`.

    Where they do not fit, the others' best lines, then of the first one its pieces, then fewer others.
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
    """Pieces of passages and their surroundings, word for word, the most likely passage first.

    Markers are counted from `first`; each piece is a claim.
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
