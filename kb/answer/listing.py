"""A sentence that announces something ("… as follows:"), together with the code or the list that it announces."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kb.domain.passages import Passage, Sentence

_MOST_LINES = 20

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+\S")
_TAG = re.compile(r"[ \t]*<[^<>]*>")  # <div class="termy"> around a block
_INDENTED = re.compile(r"[ \t]+\S")


def with_listing(passage: Passage, sentence: Sentence) -> Sentence:
    """The sentence, as far as the end of the code block or list behind its colon, where one of at most 20 lines is."""
    if not sentence.text.endswith((":", "：", ":**")):
        return sentence
    end = _listing_end(passage.text, sentence.end)
    return sentence if end is None else sentence._replace(end=end, text=passage.text[sentence.start : end])


def _listing_end(text: str, start: int) -> int | None:
    """Where the block ends that begins in the lines behind `start`; None where there is none."""
    lines = [line for line in _lines(text, start) if line[0] < line[1]]
    while lines and _TAG.fullmatch(text, *lines[0]):
        del lines[0]
    if not lines:
        return None
    fence = _FENCE.match(text, *lines[0])
    if fence:
        at = next((at for at, line in enumerate(lines[1:], 1) if _closes(text, line, fence[1])), None)
        return None if at is None or at >= _MOST_LINES else lines[at][1]
    if not _ITEM.match(text, *lines[0]):
        return None
    last = 0
    while last + 1 < len(lines) and (_ITEM.match(text, *lines[last + 1]) or _INDENTED.match(text, *lines[last + 1])):
        last += 1
    return None if last >= _MOST_LINES else lines[last][1]


def _closes(text: str, line: tuple[int, int], fence: str) -> bool:
    return text[line[0] : line[1]].strip().startswith(fence)


def _lines(text: str, start: int) -> Iterator[tuple[int, int]]:
    """The lines behind the one that `start` ends, each without white space at its end; none where more stands on it."""
    first = text.find("\n", start)
    if first < 0 or text[start:first].strip():
        return
    at = first + 1
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        yield at, at + len(text[at:end].rstrip())
        at = end + 1
