"""Finds the ranges of sentences, the smallest units that an answer quotes, in a passage's text.

Paragraphs, list items and quotations are read as prose; a table row or a piece of a code block is one sentence.
Headings, rulers, embeds, tags and lines of only links are left out. A sentence is a range of the passage's unchanged
text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from kb.domain.citations import CodeCitation
from kb.domain.search import Passage, Sentence
from kb.domain.text import Range
from kb.language.lists import words
from kb.language.markup import masked

# The most lines of a quoted piece of a code block; a blank line ends one too.
_CODE_LINES = 8
# How far ahead a bracket may close; a full stop inside it ends no sentence.
_BRACKET_CHARS = 300

# The beginning of a line: quotation marks of e-mail and Markdown, then the mark of a list item or other block.
_LINE = re.compile(
    r"(?:[ \t]*>)*[ \t]*(?:"
    r"(?P<fence>`{3,}|~{3,})"
    r"|(?P<heading>\#{1,6}(?=[ \t]|$)|={2,}[^=].*=[ \t]*$|={1,6}(?=[ \t]+[^\s=])|\#\+\w|\.\.(?=[ \t]|$)"
    r"|(?:/{3,}|:{3,})(?=[ \t{]|$)|<!--.*-->[ \t]*$)"
    r"|(?P<row>(?=\|))"
    r"|(?P<item>(?:[-+•·]|\*{1,6}|\d{1,3}[.)]|\[\^[^\]\s]+\]:)[ \t]+(?:\[[ xX]\][ \t]+)?)"
    r")?"
)
_UNDERLINE = re.compile(r"[ \t]*(?:=+|-+|~{3,}|\^{3,})[ \t]*$")
_TABLE_RULER = re.compile(r"[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-*:?[ \t]*)*$")
_WORD = re.compile(r"[^\W_]")

# Sentence ends, with the quotes, brackets and reference marks that close around them: before white space
# (3.14 and kb.toml are no ends), or after a Korean ending with no space left behind it, or a full-width stop.
_END = re.compile(
    r"[.!?…]+[\"'”’»)\]*_]*(?:\[\^?\d+\])*(?=\s|$)|(?<=[다요까죠])[.?!](?:\[\^?\d+\])*(?=[가-힣])|[。！？]+[」』”’）]*"
)

_STOPS = "abbreviations"
_INITIALS = re.compile(r"(?:[A-Za-z]\.)*[A-Z]")
_NEXT_WORD = re.compile(r"\s*[\"'“‘(\[*_]*(\w*)")
_QUOTED_ON = re.compile(r"\s+(?:라고|이라고|라는|이라는|라며|이라며|하고|고)(?![가-힣])")  # …했다." 라고 말했다
_DATE_GOES_ON = re.compile(r"\s+\d{1,2}[.일월]")
_DATE = re.compile(r"\d\.\s?\d{1,2}\Z")


def sentences(passage: Passage) -> tuple[Sentence, ...]:
    """The sentences of a passage in order; none where it holds headings alone. Source code is in pieces of lines."""
    text = passage.text
    if isinstance(passage.citation, CodeCitation):
        return tuple(Sentence(passage.number, start, end, text[start:end]) for start, end in _code_ranges(text))
    return tuple(Sentence(passage.number, start, end, text[start:end]) for start, end in sentence_ranges(text))


def sentence_ranges(text: str, cited_at: Collection[int] = ()) -> Iterator[Range]:
    """The [start, end) of each sentence of a note's text, in order and without overlap.

    `cited_at` are the places at which a generated text cites something: a full stop beside one ends a sentence, in
    whatever letter case the next begins.
    """
    shown = masked(text)
    for (start, end), is_prose in _segments(shown):
        for first, last in _cut(shown, start, end, cited_at) if is_prose else ((start, end),):
            first, last = trimmed(shown, first, last)
            if _WORD.search(shown, first, last):
                yield first, last


def _code_ranges(text: str) -> Iterator[Range]:
    """The [start, end) of pieces of source code, as in a fenced block: limited in lines, without blank ones."""
    piece: Range | None = None
    count = at = 0
    for line in text.split("\n"):
        if piece is not None and (not line.strip() or count == _CODE_LINES):
            yield piece
            piece, count = None, 0
        if line.strip():
            piece, count = (piece[0] if piece else at, at + len(line)), count + 1
        at += len(line) + 1
    if piece is not None:
        yield piece


def is_code(text: str, at: int) -> bool:
    """Whether a place of a Markdown text is in a fenced block."""
    if "```" not in text and "~~~" not in text:
        return False
    fence = ""
    for line in text_lines(text[:at]):
        if line.kind == "fence" and (not fence or _fence(text, line).startswith(fence)):
            fence = "" if fence else _fence(text, line)
    return bool(fence)


class MarkedLine(NamedTuple):
    """A line `start`..`end`. `content` begins after its quotation marks (`depth` of them) and list marker."""

    start: int
    content: int
    end: int
    kind: str  # fence, heading (or a directive, or a comment), row, item, blank, or text
    depth: int


def _segments(text: str) -> Iterator[tuple[Range, bool]]:
    """Ranges that no sentence crosses, without headings, each with whether it is prose to cut further."""
    paragraph: list[MarkedLine] = []
    code: list[MarkedLine] = []
    fence = ""
    in_table = False
    for line in text_lines(text):
        if fence:
            closes = line.kind == "fence" and _fence(text, line).startswith(fence)
            if closes or line.kind == "blank" or len(code) == _CODE_LINES:
                yield from _whole(code)
                code = []
            if closes:
                fence = ""
            elif line.kind != "blank":
                code.append(line)
        elif "|" in text[line.start : line.end] and _TABLE_RULER.match(text, line.start, line.end):
            in_table, paragraph = True, []  # the line above it names the columns
        elif paragraph and _UNDERLINE.match(text, line.start, line.end):
            paragraph = []  # it was a heading
        else:
            in_table = in_table and line.kind != "blank"
            if paragraph and (in_table or _starts_a_paragraph(text, paragraph, line)):
                yield from _paragraph(paragraph)
                paragraph = []
            if line.kind == "fence":
                fence = _fence(text, line)
            elif in_table:
                yield (line.content, line.end), False
            elif line.kind in ("text", "item", "row"):
                paragraph.append(line)
    yield from _whole(code)
    yield from _paragraph(paragraph)


def text_lines(text: str) -> Iterator[MarkedLine]:
    """The lines of a Markdown text, each with its kind."""
    start = above = 0  # `above` is the length of the line above, where it begins a paragraph
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        match = _LINE.match(text, start, end)
        content = match.end() if match else start
        kind = (match.lastgroup if match else None) or ("blank" if content == end else "text")
        if kind == "fence" and 0 < above <= end - start and text[start:end] == "~" * (end - start):
            content, kind = start, "text"  # it underlines a title of reStructuredText
        yield MarkedLine(start, content, end, kind, text.count(">", start, content))
        above = end - start if kind == "text" and not above else 0
        start = end + 1


def _whole(lines: list[MarkedLine]) -> Iterator[tuple[Range, bool]]:
    if lines:
        yield (lines[0].start, lines[-1].end), False


def _paragraph(lines: list[MarkedLine]) -> Iterator[tuple[Range, bool]]:
    if lines:
        yield (lines[0].content, lines[-1].end), lines[0].kind != "row"


def _fence(text: str, line: MarkedLine) -> str:
    return text[line.start : line.content].lstrip(" \t>")


def _starts_a_paragraph(text: str, paragraph: list[MarkedLine], line: MarkedLine) -> bool:
    """Whether a line does not continue the paragraph's last one.

    A line break is deliberate where the line's first word would have fitted on the line before, within the
    paragraph's widest line; otherwise the text was only wrapped.
    """
    last = paragraph[-1]
    if line.kind != "text" or line.depth > last.depth or text.endswith(("  ", "\\"), last.start, last.end):
        return True
    if text[last.end - 1] in ",;:(·" or text[line.content].islower():
        return False
    widest = max(_columns(text[each.start : each.end]) for each in (*paragraph, line))
    word = text[line.content : line.end].partition(" ")[0]
    return _columns(text[last.start : last.end]) + 1 + _columns(word) <= widest


def _columns(text: str) -> int:
    """The width of `text` on a terminal: Korean, Chinese and Japanese letters take two columns."""
    return len(text) if text.isascii() else sum(1 + (char >= "\u1100") for char in text)


def _cut(text: str, start: int, end: int, cited_at: Collection[int]) -> Iterator[Range]:
    """The sentences of a piece of prose."""
    for mark in _END.finditer(text, start, end):
        if _ends(text, mark, start, end, mark.start() in cited_at or mark.end() in cited_at):
            yield start, mark.end()
            start = mark.end()
    yield start, end


def _ends(text: str, mark: re.Match[str], start: int, end: int, is_cited: bool) -> bool:
    """Whether a mark ends the sentence that began at `start`, in prose that ends at `end`.

    Korean has no capitals: after a sentence that ends in Hangul, the next may begin with a name like `npm`.
    """
    following = _NEXT_WORD.match(text, mark.end(), end)
    word = following[1] if following else ""
    if not word:
        return True
    if word[0].islower() and word[0].isascii() and not is_cited and not "가" <= text[mark.start() - 1] <= "힣":
        return False
    if _opened(text, start, mark.end(), end) or _QUOTED_ON.match(text, mark.end(), end):
        return False
    if not mark[0].startswith(".") or mark[0].startswith(".."):
        return True
    space = max(text.rfind(" ", start, mark.start()), text.rfind("\n", start, mark.start()), start - 1)
    last = text[space + 1 : mark.start()].lstrip("\"'“‘([*_")
    if not last.isascii():
        return True
    if last.isdigit():
        return not (_DATE_GOES_ON.match(text, mark.end(), end) or _DATE.search(text, start, mark.start()))
    lowered = last.lower()
    if (lowered in words(_STOPS, "before_number") and word[0].isdigit()) or lowered in words(_STOPS, "title"):
        return False
    if lowered in words(_STOPS, "shortened") or _INITIALS.fullmatch(last):
        return word.lower() in words(_STOPS, "starter")
    return True


def _opened(text: str, start: int, mark: int, end: int) -> bool:
    """Whether a bracket opened since `start` closes only behind `mark`, and soon."""
    return any(
        text.count(opening, start, mark) > text.count(closing, start, mark)
        and text.find(closing, mark, min(end, mark + _BRACKET_CHARS)) >= 0
        for opening, closing in ("()", "[]", "“”", "「」", "『』")
    )


def trimmed(text: str, start: int, end: int) -> Range:
    """The range without white space at its edges."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
