"""Markdown and source code as styled text: line for line beside the hits, and as it reads in an answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from kb.extract.html import lexer_of, wrapped

_INLINE = re.compile(
    r"(?P<tick>`+)(?P<code>[^`]+)(?P=tick)"
    r"|(?P<stars>\*\*|__)(?=\S)(?P<bold>.+?)(?<=\S)(?P=stars)"
    r"|(?<![\w*])(?P<star>[*_])(?=[^\s*_])(?P<italic>[^*_]+?)(?P=star)(?![\w*])"
    r"|!?\[(?P<underline>[^\[\]]+)\]\([^()\s]*(?:\s[^()]*)?\)"
    r"|!?\[\[(?:[^\[\]|]*\|)?(?P<place>[^\[\]]+)\]\]"
    r"|</?[A-Za-z][^<>]*>"
    r"|\\(?=\s|$)"
)
_INNER = ("code", "bold", "italic", "underline", "place")
_FENCE = re.compile(r"\s*(?:>\s*)?(`{3,}|~{3,})\s*([\w+#.-]*)")
_START = re.compile(
    r"\s*(?:(?P<heading>#{1,6}\s+)|(?P<quote>>\s?(?:\[![\w-]+\][+-]?\s*)?)|(?P<item>[-*+]\s+)(?P<task>\[[ xX]\]\s+)?)"
)
_ITEM = re.compile(r"\s*\d{1,3}[.)]\s")
_ROW, _RULE = re.compile(r"\s*\|.*\|\s*"), re.compile(r"[\s|:-]+")
_BAR = "┃ "  # before a quotation
_CELL_EDGES = re.compile(
    r"\s*(?<![|\\])(?:\|(?!\|)\s*(?:…\s*)?)+"
)  # of cells, rows, and the rule that a snippet leaves out
_FEWEST_EDGES = 3  # fewer are a writer's own
_CALLOUT, _QUOTE_MARK = re.compile(r"\[![\w-]+\]"), re.compile(r"(?<=\s)>(?=\s)")
_FLAT_MARKS = re.compile(
    r"`{3,}\w*|(?:(?<!\S)>\s*)*\[![\w-]+\][+-]?|(?<!\S)(?:>\s*)*>(?=[^\W\d_])"
    r"|(?:(?<!\S)(?:#{1,6}|[-*+] \[[ xX]\]|•?\s\[[ xX]\])|^[-*+>])(?=\s|$)"
)

# The styles of Pygments' tokens; a kind without one has that of its parent.
_TOKENS = {
    "Token.Keyword": "keyword",
    "Token.Literal.String": "string",
    "Token.Literal.Number": "code",
    "Token.Comment": "quiet",
    "Token.Name.Function": "name",
    "Token.Name.Class": "name",
    "Token.Name.Tag": "name",
    "Token.Name.Decorator": "name",
}


def code_lines(lines: Sequence[str], language: str | None) -> list[Text]:
    """Lines of source code in colours; plain where Pygments does not know the language."""
    lexer = lexer_of(language.lower()) if language else None
    if lexer is not None:
        text = Text()
        for kind, part in lexer.get_tokens("\n".join(lines)):
            while str(kind) not in _TOKENS and kind.parent is not None:
                kind = kind.parent
            text.append(part, _TOKENS.get(str(kind)))
        coloured = list(text.split("\n", allow_blank=True))
        if [each.plain for each in coloured] == list(lines):
            return coloured
    return [Text(line) for line in lines]


def note_lines(lines: Sequence[str]) -> list[Text]:
    """Lines of a note, each as it is in the file: marks quiet, headings bold, code in colours."""
    styled: list[Text] = []
    for is_code, language, block in _blocks([Text(line) for line in lines]):
        if is_code:
            fence, *code = (each.plain for each in block)
            styled += [Text().append(fence, "quiet"), *code_lines(code, language)]
        else:
            styled += [Text().join(_line(each, hides=False)) for each in block]
    return styled


def rendered(text: Text) -> RenderableType:
    """Markdown as it reads: without its marks, with tables in columns and code in colours. Styles of `text` stay."""
    parts: list[RenderableType] = []
    for is_code, language, block in _blocks(list(text.split("\n", allow_blank=True))):
        if is_code:
            code = code_lines([each.plain for each in block[1:] if not _FENCE.match(each.plain)], language)
            parts.append(Padding(Group(*code), (0, 0, 0, 2)))
            continue
        for is_table, lines in groupby(block, lambda line: _ROW.fullmatch(line.plain) is not None):
            parts += (
                [_table(list(lines))] if is_table else [Hung(*_line(each, hides=True)) for each in _unwrapped(lines)]
            )
    return Group(*parts)


def unmarked(text: Text) -> Text:
    """A snippet, which is on one line, without the marks of Markdown; those of a quotation only in a callout."""
    is_callout = _CALLOUT.search(text.plain) is not None
    flat = _without(text, [found.span() for found in _FLAT_MARKS.finditer(text.plain)])
    marks = [found.span() for found in _QUOTE_MARK.finditer(flat.plain)] if is_callout else []
    shown = _inline(_parted(_without(flat, marks)), hides=True)
    return Text(" ").join(shown[word.start() : word.end()] for word in re.finditer(r"\S+", shown.plain))


def _parted(text: Text) -> Text:
    """A snippet in which a dot is between the cells of a table, as on the page."""
    edges = [found.span() for found in _CELL_EDGES.finditer(text.plain)]
    if sum(text.plain[start:end].count("|") for start, end in edges) < _FEWEST_EDGES:
        return text
    cells = text.divide([edge for each in edges for edge in each])[::2]
    return Text(" · ").join(cell for cell in cells if cell.plain.strip())


def _blocks(lines: Sequence[Text]) -> Iterator[tuple[bool, str, list[Text]]]:
    """Runs of lines of a note: whether they are code, with the fence as the first line, and its language."""
    block: list[Text] = []
    fence = language = ""
    for line in lines:
        mark = _FENCE.match(line.plain)
        if fence and mark and mark[1].startswith(fence):
            yield True, language, [*block, line]
            block, fence = [], ""
        elif mark and not fence:
            yield False, "", block
            block, fence, language = [line], mark[1], mark[2]
        else:
            block.append(line)
    yield bool(fence), language, block


def _unwrapped(lines: Iterable[Text]) -> Iterator[Text]:
    """Lines of prose; those of a paragraph that were only wrapped are one."""
    paragraph: list[Text] = []
    goes_on = False
    for line in lines:
        start = _START.match(line.plain)
        if start or _ITEM.match(line.plain) or not line.plain.strip() or not goes_on:
            yield from _joined(paragraph)
            paragraph = []
        paragraph.append(line)
        goes_on = bool(line.plain.strip()) and not (start and start["heading"])
    yield from _joined(paragraph)


def _joined(paragraph: Sequence[Text]) -> Iterator[Text]:
    if not paragraph:
        return
    whole = paragraph[0]
    for line, was_wrapped in zip(paragraph[1:], wrapped([each.plain for each in paragraph]), strict=True):
        if was_wrapped:
            whole.rstrip()
            whole = Text(" ").join([whole, line[len(line.plain) - len(line.plain.lstrip()) :]])
        else:
            yield whole
            whole = line
    yield whole


class Hung(NamedTuple):
    """A line that is wrapped below its text, not below its mark; each row of a quotation has the bar."""

    mark: Text
    text: Text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        indent = cell_len(self.mark.plain)
        further = self.mark if _BAR in self.mark.plain else Text(" " * indent)
        for at, row in enumerate(self.text.wrap(console, max(options.max_width - indent, 1))):
            yield Text().append_text(further if at else self.mark).append_text(row)


def _line(line: Text, *, hides: bool) -> tuple[Text, Text]:
    """The mark before a line, as it is shown, and its text."""
    start = _START.match(line.plain)
    begin = start or (_ITEM.match(line.plain) if hides else None)
    if begin is None:
        return Text(), _inline(line, hides=hides)
    head, rest = line.divide([begin.end()])
    rest = _inline(rest, hides=hides)
    if start is None:
        return head, rest
    if start["heading"]:
        rest.stylize("bold")
    if not hides:
        return Text(head.plain, "quiet"), rest
    shown = _BAR if start["quote"] else "" if start["heading"] else "• "
    if start["task"]:
        shown = "☐ " if "[ ]" in start["task"] else "☑ "
    return Text(head.plain[: len(head.plain) - len(head.plain.lstrip())]).append(shown, "quiet"), rest


def _inline(text: Text, *, hides: bool) -> Text:
    """A line with its marks quiet; or without them, also where they are inside others."""
    shown, at = Text(), 0
    for found in _INLINE.finditer(text.plain):
        style = next((name for name in _INNER if found[name]), None)
        start, end = found.span(style) if style else (found.end(), found.end())
        if style:
            text.stylize(style, start, end)
        if hides:
            inner = text[start:end]
            shown.append_text(text[at : found.start()])
            shown.append_text(inner if style == "code" else _inline(inner, hides=True))
            at = found.end()
        else:
            text.stylize("quiet", found.start(), start)
            text.stylize("quiet", end, found.end())
    return shown.append_text(text[at:]) if hides else text


def _without(text: Text, ranges: Sequence[tuple[int, int]]) -> Text:
    return Text().join(text.divide([edge for each in ranges for edge in each])[::2]) if ranges else text


def _table(rows: Sequence[Text]) -> Table:
    """Rows of a table in columns; the first is its head where a rule is below it."""
    cells = [_cells(row) for row in rows if not _RULE.fullmatch(row.plain)]
    has_head = len(rows) > 1 and _RULE.fullmatch(rows[1].plain) is not None
    table = Table(box=box.SIMPLE_HEAD, show_header=has_head, pad_edge=False, border_style="quiet")
    for cell in cells[0] if cells else ():
        table.add_column(cell if has_head else "", overflow="fold")
    for row in cells[has_head:]:
        table.add_row(*row)
    return table


def _cells(row: Text) -> list[Text]:
    edges = [at for found in re.finditer(r"(?<!\\)\|", row.plain) for at in found.span()]
    cells = []
    for cell in row.divide(edges)[2:-1:2]:
        cell.rstrip()
        cells.append(_inline(cell[len(cell.plain) - len(cell.plain.lstrip()) :], hides=True))
    return cells
