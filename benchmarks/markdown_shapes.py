"""Markdown files of one size and of every shape that costs a parser differently: what memory is measured with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

_PROSE = (
    "Paragraph {n} speaks of *harbour* {n} and of [ships](https://example.org/{n}) that leave at dawn with grain, "
    "salt and timber for the north. Another sentence tells who sailed them, and what became of `cargo_{n}`.\n\n"
)
_KOREAN = "항구 {n}번에서 새벽에 곡식과 소금을 실은 배가 북쪽으로 떠났다고 항해 일지 {n}쪽에 기록되어 있다.\n\n"


def _repeated(unit: str) -> Callable[[], Iterator[str]]:
    return lambda: (unit.format(n=n) for n in count())


def _opened(opening: str, unit: str) -> Callable[[], Iterator[str]]:
    def parts() -> Iterator[str]:
        yield opening
        yield from _repeated(unit)()

    return parts


SHAPES: dict[str, Callable[[], Iterator[str]]] = {
    "prose": _repeated(_PROSE),
    "Korean prose": _repeated(_KOREAN),
    "one paragraph": _repeated("one *line* of prose, {n}\n"),
    "emphasis": _repeated("*a* **b** `c`\n"),
    "one line": _repeated("word *x* [[y {n}]] "),
    "lines of 19,900 characters": _repeated("word *x* [[y]] " * 1_326 + "{n}\n\n"),
    "headings": _repeated("## Heading {n} with a few words more\n"),
    "short paragraphs": _repeated("Paragraph {n}, only a few words long\n\n"),
    "list": _repeated("- item {n} `x{n}`\n"),
    "nested list": _repeated("- item {n}\n  - below\n    - *deeper*\n"),
    "list of empty items": _repeated("-\n"),
    "table": _opened("| a | b | c | d |\n|---|---|---|---|\n", "| {n} | x{n} | y | z |\n"),
    "wide table": _opened("|" + " a |" * 40 + "\n|" + "---|" * 40 + "\n", "|" + " b |" * 40 + "\n"),
    "table of empty cells": _opened("|" + " |" * 40 + "\n|" + "-|" * 40 + "\n", "|" + " |" * 40 + "\n"),
    "fence": _opened("```python\n", "print({n})\n"),
    "quote": _repeated("> quoted *x* line {n}\n"),
    "links defined": _repeated("[r{n}]: https://example.org/{n}\n\nsee [r{n}], {n}\n\n"),
    "HTML": _repeated("<div>\n<b>{n}</b>\n</div>\n\n"),
}
"""Name → the parts of an endless file of that shape."""


def file_of(shape: str, most_bytes: int) -> str:
    """Whole parts of a shape, as many as fit into `most_bytes` of UTF-8."""
    parts: list[str] = []
    size_bytes = 0
    for part in SHAPES[shape]():
        size_bytes += len(part.encode())
        if size_bytes > most_bytes:
            return "".join(parts)
        parts.append(part)
    raise AssertionError("a shape ends")
