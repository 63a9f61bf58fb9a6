"""Blocks that MuPDF made of lines of two columns, taken apart where the text goes from one column to the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kb.extract.pdf.raw_pages import RawBlock
from kb.extract.pdf.tables import Word

_SAME_LINE = 0.25  # of a line's height: lines whose tops are nearer stand side by side


class Line(NamedTuple):
    """A line of a block: its box in points, its words, and which of the block's lines it is."""

    x0: float
    y0: float
    x1: float
    y1: float
    words: Sequence[Word]
    number: int


def overlap(blocks: Sequence[RawBlock]) -> bool:
    """Whether blocks cover each other in part, as those do that hold lines of two columns."""
    by_top = sorted(blocks, key=lambda block: block.y0)
    for index, block in enumerate(by_top):
        for other in by_top[index + 1 :]:
            if other.y0 >= block.y1:
                break
            if other.x0 < block.x1 and block.x0 < other.x1:
                return True
    return False


def taken_apart(blocks: Sequence[RawBlock], words: Sequence[Word]) -> tuple[list[RawBlock], list[Word]]:
    """The blocks in parts, and the words with the part they are in; a word names a block by its place in `blocks`."""
    parts: list[RawBlock] = []
    renamed: list[Word] = []
    by_block: list[list[Word]] = [[] for _ in blocks]
    for word in words:
        by_block[word[5]].append(word)
    for block, own in zip(blocks, by_block, strict=True):
        texts = block.text.split("\n")
        runs = list(_runs(_lines(own)))
        if len(runs) < 2 or max(line.number for run in runs for line in run) >= len(texts):
            runs = []
            parts.append(block)
            renamed += [(*word[:5], len(parts) - 1, *word[6:]) for word in own]
        for run in runs:
            text = "\n".join(texts[line.number] for line in run)
            parts.append(_around(run, text))
            renamed += [(*word[:5], len(parts) - 1, *word[6:]) for line in run for word in line.words]
    return parts, renamed


def _lines(words: Sequence[Word]) -> list[Line]:
    lines: dict[int, list[Word]] = {}
    for word in words:
        lines.setdefault(word[6], []).append(word)
    return [
        Line(
            min(word[0] for word in line),
            min(word[1] for word in line),
            max(word[2] for word in line),
            max(word[3] for word in line),
            line,
            number,
        )
        for number, line in lines.items()
    ]


def _runs(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """The lines in runs; a new one where a line stands wholly beside the one before it, and not at its height."""
    run: list[Line] = []
    for line in lines:
        if run:
            last = run[-1]
            is_beside = line.x1 <= last.x0 or line.x0 >= last.x1
            if is_beside and abs(line.y0 - last.y0) > _SAME_LINE * (line.y1 - line.y0):
                yield run
                run = []
        run.append(line)
    if run:
        yield run


def _around(run: Sequence[Line], text: str) -> RawBlock:
    return RawBlock(
        min(line.x0 for line in run),
        min(line.y0 for line in run),
        max(line.x1 for line in run),
        max(line.y1 for line in run),
        text,
    )
