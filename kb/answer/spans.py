"""Cuts an answer's text into spans: pieces or sentences that answer, their markers, and the text around them.

Every surface paints these spans and nothing else: the command line, the terminal UI, the page, the text for agents.
They are computed from the stored text and claims, so that older answers have them too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

from kb.answer.wording import why_words
from kb.domain.answers import Answer, Span, SpanForm
from kb.domain.text import Range
from kb.language.occurrences import occurrences
from kb.language.sentences import text_lines

V = TypeVar("V")

_CODE_OR_MARKER = re.compile(r"`[^`\n]*`|(?P<marker>\[\d{1,9}\])")


def with_spans(answer: Answer) -> Answer:
    """The answer with the spans of its text, and with the sentence on why kb is sure of it or not."""
    return answer._replace(spans=tuple(_spans(answer)), why=why_words(answer))


def _spans(answer: Answer) -> Iterator[Span]:
    """The spans in order; joined, they are the text of the answer."""
    text = answer.text
    if answer.refusal_reason is not None:
        yield Span("plain", "prose", text)
        return
    is_quoted = answer.written.model.provider == "extractive"
    claims = dict(_claims(answer))
    known = {each.marker for each in answer.citations}
    found = _CODE_OR_MARKER.finditer(text)
    markers = {match.span() for match in found if match["marker"] in known and _around(match.span(), claims) is None}
    headings = {f"{number}. {hop.question}" for number, hop in enumerate(answer.hops)}
    forms = dict(_forms(text))
    cuts = {0, len(text), *(place for at in (*claims, *markers, *forms) for place in at)}
    spans: list[Span] = []
    for at in pairwise(sorted(cuts)):
        part = text[slice(*at)]
        form = _around(at, forms) or "prose"
        claim = _around(at, claims)
        if claim is not None:
            span = Span("piece" if is_quoted else "claim", form, part, claim)
        elif at in markers:
            span = Span("marker", form, part)
        else:
            span = Span("beside" if is_quoted and part.strip() not in headings else "plain", form, part)
        if spans and spans[-1]._replace(text="") == span._replace(text=""):
            span = span._replace(text=spans.pop().text + part)
        spans.append(span)
    yield from spans


def _around(at: Range, named: Mapping[Range, V]) -> V | None:
    """The value of the first range in `named` that contains the range `at`; None if none does."""
    return next((name for (start, end), name in named.items() if start <= at[0] and at[1] <= end), None)


def _claims(answer: Answer) -> Iterator[tuple[Range, int]]:
    """The ranges of the text that are claims, each with the index of its claim, from 0.

    A claim is found as a whole, or else line by line, as the text leaves out lines of mere markup.
    """
    taken: list[Range] = []
    for number, claim in enumerate(answer.claims):
        if claim.status == "dropped":
            continue
        free = (at for at in occurrences(claim.text, answer.text, "words") if not _overlaps(at, taken))
        whole = next(free, None)
        for at in (whole,) if whole is not None else tuple(_lines_of(claim.text, answer.text)):
            if not _overlaps(at, taken):
                taken.append(at)
                yield at, number


def _lines_of(claim: str, text: str) -> Iterator[Range]:
    """The ranges of a claim's lines in a text, each after the one before; lines that the text lacks are skipped."""
    end = 0
    for line in filter(None, map(str.strip, claim.split("\n"))):
        at = text.find(line, end)
        if at >= 0:
            end = at + len(line)
            yield at, end


def _overlaps(at: Range, ranges: Sequence[Range]) -> bool:
    return any(start < at[1] and at[0] < end for start, end in ranges)


def _forms(text: str) -> Iterator[tuple[Range, SpanForm]]:
    """The ranges of code blocks (fences included) and table rows, with their form."""
    fence = ""
    for line in text_lines(text):
        end = min(line.end + 1, len(text))
        mark = text[line.start : line.content].lstrip(" \t>") if line.kind == "fence" else ""
        if fence or mark:
            yield (line.start, end), "code"
        elif line.kind == "row":
            yield (line.start, end), "table"
        if mark and (not fence or mark.startswith(fence)):
            fence = "" if fence else mark


def as_markdown(spans: Sequence[Span]) -> str:
    """The text as Markdown, with pieces in bold if they are prose on one line without emphasis."""
    return "".join(
        f"**{each.text}**" if each.kind == "piece" and each.form == "prose" and _may_be_bold(each.text) else each.text
        for each in spans
    )


def _may_be_bold(text: str) -> bool:
    return not set("*\n").intersection(text) and text == text.strip() != ""
