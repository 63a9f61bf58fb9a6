"""Finds the lines of a note that an anchor names, as links do: `Heading`, `Outer#Inner`, `a-slug`, `^block`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from kb.domain.results.inspection import BlockDetail
from kb.language.links import folded

_BETWEEN = re.compile(r"\s*(?:#|›|\s>\s)\s*")
_COUNTED = re.compile(r"(.+)-([1-9][0-9]{0,3})")
_GIVEN = re.compile(r"\{:?[^{}]*?#([\w.-]+)[^{}]*\}\s*$|\[\[([\w.-]+)\]\]\s*$")

# More lines than a file has: a section that goes on to its end.
TO_THE_END = 10**9


class HeadedSection(NamedTuple):
    """A heading, those above it, and the lines of its section, both ends included."""

    text: str
    above: tuple[str, ...]
    start: int
    end: int


def sections_of(blocks: Sequence[BlockDetail]) -> list[HeadedSection]:
    """The sections of a note by its blocks, in order; empty where they have no lines."""
    headings = []
    for each in blocks:
        span = json.loads(each.source_span_json)
        if each.kind == "heading" and span["kind"] == "line":
            payload = json.loads(each.payload_json)
            headings.append((span["start"], payload["level"], payload["text"], json.loads(each.heading_path_json)))
    found = []
    for number, (start, level, text, above) in enumerate(headings, 1):
        after = (next_start for next_start, next_level, *_ in headings[number:] if next_level <= level)
        found.append(HeadedSection(text, tuple(above), start, next(after, TO_THE_END + 1) - 1))
    return found


def lines_named(
    anchor: str, blocks: Sequence[BlockDetail], title: str, lines: Callable[[], Sequence[str]]
) -> list[tuple[int, int]]:
    """The first and last line of each section or block with that anchor; `lines` reads those of the file.

    Headings are compared by their letters and digits. Several sections may have one heading; `Outer#Inner` (or
    `Outer › Inner`) and a slug with a number, `inner-1`, tell them apart.
    """
    if anchor.startswith("^"):
        return list(_blocks_called(anchor[1:], blocks, lines()))
    sections = sections_of(blocks)
    found = [each for each in sections if is_headed(anchor, (*each.above, each.text), title)]
    if not found and (counted := _COUNTED.fullmatch(anchor)):
        same = [each for each in sections if _plain(each.text) == _plain(counted[1])]
        found = same[int(counted[2]) :][:1]
    if not found and sections:
        text = lines()
        found = [each for each in sections if anchor in _given(text[each.start - 1 : each.start])]
    return [(each.start, each.end) for each in found]


def is_headed(anchor: str, headings: Sequence[str], title: str) -> bool:
    """Whether the anchor names the last of these headings: alone, or behind some of those above it or the title."""
    *above, last = map(_plain, headings)
    if _plain(anchor) == last != "":
        return True
    *outer, inner = map(_plain, _BETWEEN.split(anchor))
    over = iter((_plain(title), *above))
    return inner == last != "" and bool(outer) and all(each in over for each in outer)


def is_under(anchor: str, headings: Sequence[str], title: str) -> bool:
    """Whether the anchor names one of these headings, outermost first."""
    return any(is_headed(anchor, headings[:number], title) for number in range(1, len(headings) + 1))


def _plain(text: str) -> str:
    return "".join(filter(str.isalnum, folded(text)))


def _given(line: Sequence[str]) -> Iterator[str]:
    """The anchor that a heading's line gives itself: `# Title {#anchor}`."""
    for each in line:
        if match := _GIVEN.search(each):
            yield next(filter(None, match.groups()))


def _blocks_called(name: str, blocks: Sequence[BlockDetail], lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The block whose last line ends with `^name`, or that is before a line with nothing else; of a list the item."""
    ends = re.compile(rf"(?:^|\s)\^{re.escape(name)}\s*$")
    spans = [(each.kind, json.loads(each.source_span_json)) for each in blocks]
    for number, line in enumerate(lines, 1):
        if not ends.search(line):
            continue
        at = number
        while at > 1 and (at == number or not lines[at - 1].strip()) and lines[at - 1].strip() in ("", f"^{name}"):
            at -= 1
        held = next((s for k, s in spans if k != "list" and s["kind"] == "line" and s["start"] <= at <= s["end"]), None)
        yield (min(held["start"], at), number) if held else (at, number)
