"""The blocks of a page, and which of them are its content.

Navigation, footers, banners and hidden elements are left out, unless hardly anything else exists or they contain much
of the text. If a page marks its main part, everything else is left out, as are links and labels around running text.
Measured on 989 web pages: benchmarks/RESULTS.md.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kb.domain.documents import BlockKind

# Less content than this, and at most this share of all text, means that the marks of content are not to be trusted.
_LEAST_CHARS, _LEAST_SHARE, _LEAST_MAIN = 200, 0.25, 0.35

# Running text has at least so many characters, and this share of them at most in links; it makes up at least so much of
# a page whose links and labels are left out. A line that is no sentence is shorter than `_LINE_CHARS`.
_RUNNING_CHARS, _MOST_LINKED, _LEAST_RUNNING, _LEAST_RUNNING_SHARE, _LINE_CHARS = 80, 0.3, 500, 0.5, 80
_LINKS_AROUND, _LINKS_WITHIN = 0.6, 0.9
_SENTENCE_END = re.compile(r"[.!?…。:;\"”»」)\]]\s*$")

# An element with this share of all text is content, however it is marked.
_MOST_BESIDE = 0.3

# Marks of an element beside the content: its name, by role, and by a word of its class or id.
_BESIDE = frozenset({"nav", "footer", "dialog"})
_BESIDE_ROLES = frozenset("navigation banner contentinfo complementary search dialog alertdialog menu menubar".split())
_BESIDE_CLASS = re.compile(
    r"(?:^|[\s_-])(?:cookies?|consent|gdpr|banner|sidebar|breadcrumbs?|share|sharing|social|newsletter|advert\w*|ads?|popup"
    r"|modal|pagination|navbar|nav|menu|masthead|skip|toolbar|footer|headerlink|related|respond|comment-?form|subscribe"
    r"|signup|login|promo|sponsored|recommendations?|recommended|trending|popular)(?=$|[\s_-])",
    re.IGNORECASE,
)
_JUDGED_BY_CLASS = frozenset("div section ul ol p span a table aside header form".split())


class LineText(NamedTuple):
    """Text on one line of the source; `line` counts from 1."""

    line: int
    text: str


@dataclass(slots=True)
class HtmlBlock:
    """A block: its pieces in order. For a table, `rows` are its cells, and the piece gives its first line.

    `level` is the level of a heading. `beside` are numbers of the elements around the block that look like navigation
    and the like, outermost first. `is_main`: the page marks the block as content. `linked_chars` counts the characters
    of its text that are links. `last_line` is the last line of the source that a row or heading on one line is from; 0:
    that of its piece.
    """

    kind: BlockKind
    pieces: list[LineText]
    level: int = 0
    language: str | None = None
    headers: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    beside: tuple[int, ...] = ()
    is_main: bool = False
    linked_chars: int = 0
    last_line: int = 0

    @property
    def text(self) -> str:
        """The text of the block, with the line ends of the source."""
        lines: list[str] = []
        for before, piece in zip((None, *self.pieces), self.pieces, strict=False):
            if before is not None and before.line == piece.line:
                lines[-1] += " " + piece.text
            else:
                lines.append(piece.text)
        return "\n".join(lines)


def is_beside(name: str, attributes: Mapping[str, str], is_main: bool) -> bool:
    """Whether an element is beside the content (`is_main`: its main part) by name, role, class or id, or hidden."""
    return (
        name in _BESIDE
        or attributes.get("role", "").lower() in _BESIDE_ROLES
        or (name == "aside" and not is_main)
        or "hidden" in attributes
        or attributes.get("aria-hidden") == "true"
        or "display:none" in attributes.get("style", "").replace(" ", "")
        or (
            name in _JUDGED_BY_CLASS
            and bool(_BESIDE_CLASS.search(f"{attributes.get('class', '')} {attributes.get('id', '')}"))
        )
    )


def content_of(blocks: Sequence[HtmlBlock]) -> list[HtmlBlock]:
    """The blocks without those beside the content; all blocks if too little would be left."""
    total = _chars(blocks)
    inside: defaultdict[int, int] = defaultdict(int)
    for block in blocks:
        for element in block.beside:
            inside[element] += _chars([block])
    # What holds much of a page is no banner, whatever it is called.
    beside = {element for element, chars in inside.items() if chars < total * _MOST_BESIDE}
    kept = [block for block in blocks if beside.isdisjoint(block.beside)]
    if _chars(kept) < min(_LEAST_CHARS, total * _LEAST_SHARE):
        return list(blocks)
    main = [block for block in kept if block.is_main]
    return _trimmed(main if _chars(main) >= max(_LEAST_CHARS, _chars(kept) * _LEAST_MAIN) else kept)


def _trimmed(blocks: list[HtmlBlock]) -> list[HtmlBlock]:
    """The blocks without links and labels around running text, if that, code or tables are the most; else all.

    Left out are link blocks around the text, lines of only links inside it, lines after it that are no sentence, and
    headings with nothing below them that come after it or are links.
    """
    solid = [at for at, each in enumerate(blocks) if each.kind in ("code", "table") or _is_running(each)]
    if not solid or sum(_chars([blocks[at]]) for at in solid) < max(
        _LEAST_RUNNING, _chars(blocks) * _LEAST_RUNNING_SHARE
    ):
        return blocks
    first, last = solid[0], solid[-1]
    kept: list[HtmlBlock] = []
    for at in range(len(blocks) - 1, -1, -1):
        block = blocks[at]
        chars = _chars([block])
        links = block.linked_chars / max(1, chars)
        if block.kind == "heading":
            has_below = bool(kept) and (kept[-1].kind != "heading" or kept[-1].level > block.level)
            is_left_out = not has_below and (at > last or links > _LINKS_AROUND)
        elif first <= at <= last:
            is_left_out = links > _LINKS_WITHIN and block.kind == "paragraph" and chars < _LINE_CHARS
        else:
            is_label = at > last and block.kind == "paragraph" and chars < _LINE_CHARS
            is_left_out = links > _LINKS_AROUND or (is_label and not _SENTENCE_END.search(block.text))
        if not is_left_out:
            kept.append(block)
    return kept[::-1]


def _is_running(block: HtmlBlock) -> bool:
    chars = _chars([block])
    return block.kind != "heading" and chars >= _RUNNING_CHARS and block.linked_chars < chars * _MOST_LINKED


def _chars(blocks: Sequence[HtmlBlock]) -> int:
    return sum(len(piece.text) for block in blocks for piece in block.pieces)
