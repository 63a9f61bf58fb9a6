"""Every block's span is exact, and Markdown parsed in pieces gives the blocks of the whole."""

from __future__ import annotations

import gc
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it.token import Token

from kb.domain.documents import Block, Code, Document, List, Payload, Table, Text
from kb.domain.ids import AssetId
from kb.domain.spans import LineSpan
from kb.domain.text import WorkspacePath
from kb.errors import FileTooLarge
from kb.extract import document_builder
from kb.extract.markdown import document as markdown_document
from kb.extract.markdown.document import extract_markdown

ASSET = AssetId("0" * 32)

# Each case: Markdown, and its blocks as (kind, first line, last line).
CASES: dict[str, tuple[str, list[tuple[str, int, int]]]] = {
    "atx heading": ("# a", [("heading", 1, 1)]),
    "atx heading, closed": ("## a ##\n", [("heading", 1, 1)]),
    "atx heading, empty": ("#\ntext", [("heading", 1, 1), ("paragraph", 2, 2)]),
    "atx heading, three spaces in": ("   ### a", [("heading", 1, 1)]),
    "seven hashes are text": ("####### a", [("paragraph", 1, 1)]),
    "heading ends a paragraph": ("a\n# b\nc", [("paragraph", 1, 1), ("heading", 2, 2), ("paragraph", 3, 3)]),
    "setext heading": ("a\n===", [("heading", 1, 2)]),
    "setext heading of two lines": ("a\nb\n---\nc", [("heading", 1, 3), ("paragraph", 4, 4)]),
    "thematic break is no block": ("a\n\n---\n\nb", [("paragraph", 1, 1), ("paragraph", 5, 5)]),
    "thematic break of stars": ("a\n***\nb", [("paragraph", 1, 1), ("paragraph", 3, 3)]),
    "paragraph lines": ("a\nb\n\n\nc\n", [("paragraph", 1, 2), ("paragraph", 5, 5)]),
    "blank lines with spaces": ("a\n  \t\nb", [("paragraph", 1, 1), ("paragraph", 3, 3)]),
    "leading blank lines": ("\n\n\na", [("paragraph", 4, 4)]),
    "windows line ends": ("a\r\n\r\nb\r\n", [("paragraph", 1, 1), ("paragraph", 3, 3)]),
    "old mac line ends": ("a\r\rb\r", [("paragraph", 1, 1), ("paragraph", 3, 3)]),
    "hard break": ("a  \nb\\\nc", [("paragraph", 1, 3)]),
    "fence": ("```py\nx\n```\na", [("code", 1, 3), ("paragraph", 4, 4)]),
    "fence of tildes": ("~~~\n```\n~~~", [("code", 1, 3)]),
    "fence with blank lines inside": ("```\n\nx\n\n```", [("code", 1, 5)]),
    "fence unclosed": ("```\nx\n\ny\n\n\n", [("code", 1, 4)]),
    "fence unclosed and empty": ("a\n\n```", [("paragraph", 1, 1), ("code", 3, 3)]),
    "fence ends a paragraph": ("a\n```\nx\n```\nb", [("paragraph", 1, 1), ("code", 2, 4), ("paragraph", 5, 5)]),
    "fence too short to close": ("````\nx\n```\n````", [("code", 1, 4)]),
    "indented code": ("    x\n    y\n\na", [("code", 1, 2), ("paragraph", 4, 4)]),
    "indented code with a blank line": ("    x\n\n    y\n\n\na", [("code", 1, 3), ("paragraph", 6, 6)]),
    "indented code by tab": ("\tx\n", [("code", 1, 1)]),
    "indented line continues a paragraph": ("a\n        b", [("paragraph", 1, 2)]),
    "bullet list": ("- a\n- b\n\nc", [("list", 1, 2), ("paragraph", 4, 4)]),
    "ordered list": ("1. a\n2. b", [("list", 1, 2)]),
    "loose list": ("- a\n\n- b\n\n\nc", [("list", 1, 3), ("paragraph", 6, 6)]),
    "another bullet is another list": ("- a\n+ b", [("list", 1, 1), ("list", 2, 2)]),
    "nested list": ("- a\n  - b\n    - c\n- d", [("list", 1, 4)]),
    "nested list by tabs": ("- a\n\t- b\n\n\t\tc\n", [("list", 1, 4)]),
    "list with code": ("- a\n\n  ```\n  x\n\n  y\n  ```\nb", [("list", 1, 7), ("paragraph", 8, 8)]),
    "list with indented code": ("1.  a\n\n        x\n\nb", [("list", 1, 3), ("paragraph", 5, 5)]),
    "list with quote": ("- a\n  > b\n  > c\n", [("list", 1, 3)]),
    "list with lazy line": ("- a\nb\n\nc", [("list", 1, 2), ("paragraph", 4, 4)]),
    "list with empty item": ("- a\n-\n- c", [("list", 1, 3)]),
    "list begun by a blank item": ("-\n  a", [("list", 1, 2)]),
    "list ends a paragraph": ("a\n- b", [("paragraph", 1, 1), ("list", 2, 2)]),
    "a number other than 1 is text": ("a\n2. b", [("paragraph", 1, 2)]),
    "task list": ("- [ ] a\n- [x] b", [("list", 1, 2)]),
    "list after thematic break": ("---\n\n- a\n\n---\n", [("list", 3, 3)]),
    "quote": ("> a\n> b\n\nc", [("quote", 1, 2), ("paragraph", 4, 4)]),
    "quote with lazy line": ("> a\nb\n\nc", [("quote", 1, 2), ("paragraph", 4, 4)]),
    "quotes apart": ("> a\n\n> b", [("quote", 1, 1), ("quote", 3, 3)]),
    "quote with blank quoted line": ("> a\n>\n> b\n", [("quote", 1, 3)]),
    "quote in quote": ("> > a\n> b", [("quote", 1, 2)]),
    "quote with fence left open": ("> ```\n> x\ny", [("quote", 1, 2), ("paragraph", 3, 3)]),
    "quote with list and heading": ("> # a\n> - b\n>   - c\n", [("quote", 1, 3)]),
    "quote ends a paragraph": ("a\n> b", [("paragraph", 1, 1), ("quote", 2, 2)]),
    "callout": ("> [!note] a\n> b", [("quote", 1, 2)]),
    "table": ("|a|b|\n|-|-|\n|c|d|\n\ne", [("table", 1, 3), ("paragraph", 5, 5)]),
    "table without outer pipes": ("a|b\n:-|-:\nc|d\n", [("table", 1, 3)]),
    "table with pipes in code": ("|a|b|\n|-|-|\n|`x\\|y`|d|", [("table", 1, 3)]),
    "table of a head only": ("|a|\n|-|\n\nb", [("table", 1, 2), ("paragraph", 4, 4)]),
    "table after a paragraph line": (
        "a\n\n|b|c|\n|-|-|\n|d|e|\n# f",
        [("paragraph", 1, 1), ("table", 3, 5), ("heading", 6, 6)],
    ),
    "table with unlike head is text": ("|a|b|\n|-|\n|c|d|", [("paragraph", 1, 3)]),
    "html block": ("<div>\na\n</div>\n\nb", [("paragraph", 1, 3), ("paragraph", 5, 5)]),
    "html block without a blank line after": ("<p>a</p>\nb", [("paragraph", 1, 2)]),
    "html script with blank lines": ("<script>\n\nx\n</script>\na", [("paragraph", 1, 4), ("paragraph", 5, 5)]),
    "html comment is no block": ("<!-- a\n\nb -->\n\nc", [("paragraph", 5, 5)]),
    "inline html": ("a <b>c</b>", [("paragraph", 1, 1)]),
    "comment is no block": ("a\n\n%%\nb\n\nc\n%%\n\nd", [("paragraph", 1, 1), ("paragraph", 9, 9)]),
    "comment on one line": ("%% a %%\n\nb", [("paragraph", 3, 3)]),
    "comment unclosed is text": ("%% a\n\nb", [("paragraph", 1, 1), ("paragraph", 3, 3)]),
    "link definitions are no block": ("[a]: /x\n[b]: /y 'z'\n\nc", [("paragraph", 4, 4)]),
    "link definition before text": ("[a]: /x\nb", [("paragraph", 2, 2)]),
    "footnote": ("a[^1]\n\n[^1]: b\n", [("paragraph", 1, 1), ("paragraph", 3, 3)]),
    "footnote of two paragraphs": ("[^n]: b\n\n    c\n\nd", [("paragraph", 1, 3), ("paragraph", 5, 5)]),
    "footnotes in a row": ("[^1]: a\n[^2]: b", [("paragraph", 1, 1), ("paragraph", 2, 2)]),
    "image": ("![a](b.png)", [("image_ref", 1, 1)]),
    "image on two lines": ("![a\nb](c.png)", [("image_ref", 1, 2)]),
    "embedded image": ("![[a.png]]\n\nb", [("image_ref", 1, 1), ("paragraph", 3, 3)]),
    "embedded note": ("![[a]]", [("paragraph", 1, 1)]),
    "image within text": ("a ![b](c.png)", [("paragraph", 1, 1)]),
    "frontmatter": ("---\ntitle: a\n---\nb", [("paragraph", 4, 4)]),
    "frontmatter and blank lines": ("---\ntitle: a\n---\n\n\n# b\nc\n", [("heading", 6, 6), ("paragraph", 7, 7)]),
    "frontmatter alone": ("---\ntitle: a\n---\n", [("code", 1, 3)]),
    "frontmatter broken": ("---\na: [\n---\n# b", [("code", 1, 3), ("heading", 4, 4)]),
    "separators that are no line ends": ("a\u2028b\x0bc\x0cd\x85e\n\nf", [("paragraph", 1, 1), ("paragraph", 3, 3)]),
    "only wide spaces": ("a\n\n\u3000\n\nb", [("paragraph", 1, 1), ("paragraph", 5, 5)]),
    "no line end at the end": ("# a\n\nb", [("heading", 1, 1), ("paragraph", 3, 3)]),
    "nul and byte order mark": ("\ufeff# a\n\nb\0c", [("heading", 1, 1), ("paragraph", 3, 3)]),
    "korean": ("# 제목\n\n본문입니다.\n- 하나\n- 둘", [("heading", 1, 1), ("paragraph", 3, 3), ("list", 4, 5)]),
}

# Lines that belong to no block: link definitions and thematic breaks; comments are taken out first.
_UNBLOCKED = re.compile(r" {0,3}(?:\[[^\]^][^\]]*\]:.*|(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}))")
_COMMENT = re.compile(r"<!--.*?-->|^%%.*?%%$", re.DOTALL | re.MULTILINE)


def read(text: str) -> Document:
    return extract_markdown(text.encode(), workspace_path=WorkspacePath("note.md"), asset_id=ASSET)


@pytest.mark.parametrize("name", CASES)
def test_spans_of(name: str) -> None:
    text, expected = CASES[name]
    document = read(text)
    assert [(block.kind, block.span.start, block.span.end) for block in document.blocks] == expected
    assert_lines_covered(document)
    assert_reads_again(document)


@pytest.mark.skipif("KB_DATA" not in os.environ, reason="KB_DATA names no folder of sample corpora")
@pytest.mark.parametrize("corpus", ["notes-ko", "xling-fastapi", "cranfield"])
def test_spans_of_real_notes(corpus: str) -> None:
    paths = sorted((Path(os.environ["KB_DATA"]) / corpus).rglob("*.md"))
    assert paths
    for path in paths:
        doc = extract_markdown(path.read_bytes(), workspace_path=WorkspacePath("note.md"), asset_id=ASSET)
        assert_lines_covered(doc)
        assert_reads_again(doc)


def assert_lines_covered(doc: Document) -> None:
    """Blocks are in order, do not overlap, begin and end with written lines, and leave out no line that is text."""
    lines = doc.source_text.split("\n")
    owned: set[int] = set()
    last = 0
    for block in doc.blocks:
        assert last < block.span.start <= block.span.end
        assert lines[block.span.start - 1].strip()
        assert lines[block.span.end - 1].strip()
        last = block.span.end
        owned.update(range(block.span.start, block.span.end + 1))
    shown = _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), doc.source_text).split("\n")
    if shown[0].strip() == "---":  # frontmatter, unless it is the only text there is
        owned.update(range(1, next((n for n, line in enumerate(shown[1:], 2) if line.strip() == "---"), 0) + 1))
    stray = [
        (number, line)
        for number, line in enumerate(shown, 1)
        if line.strip() and number not in owned and not _UNBLOCKED.fullmatch(line)
    ]
    assert stray == []


def assert_reads_again(doc: Document) -> None:
    """A block's own lines, read as a file of their own, are the same block."""
    lines = doc.source_text.split("\n")
    definitions = [line for line in lines if re.match(r" {0,3}\[[^\]^][^\]]*\]: *\S", line)]
    for block in doc.blocks:
        own = lines[block.span.start - 1 : block.span.end]
        again = read("\n".join(own))
        assert [(found.kind, found.span.start, found.span.end) for found in again.blocks] == [
            (block.kind, 1, len(own))
        ], f"line {block.span.start}"
        if not definitions:
            assert _without_links(again.blocks[0].payload) == _without_links(block.payload)


def _without_links(payload: Payload) -> Payload:
    return replace(payload, links=()) if isinstance(payload, Text | List) else payload


PARTS = (
    "# h\n\n",
    "setext\n===\n",
    "prose *a*\nmore [[x]] #t\n\n",
    "see [one] and [two][one]\n\n",
    "\n[one]: https://example.org/1 'title'\n\n",
    "```py\n# not a heading\n\n%%\n~~~\n```\n",
    "~~~\nnever closed by backticks\n```\n~~~\n",
    "- a\n- b\n\n  c\n  - d\n\n",
    "1. one\n2. two\n",
    "> [!note] t\n> quoted\nlazy\n\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n",
    "%%\nhidden\n\n# hidden too\n%%\n\n",
    "%% in a line %%\n",
    "<div>\n*raw*\n</div>\n\n",
    "<!-- out\n\nof sight -->\n",
    "    code\n\n    more\n\n",
    "[^1]: a note\n    going on\n\n",
    "![[image.png]]\n\n",
    "\n\n\n",
    "---\n",
)


def in_pieces(text: str, patch: pytest.MonkeyPatch, chars: int, most: int = 1_000_000) -> Document:
    with patch.context() as limits:
        limits.setattr(markdown_document, "PIECE_CHARS", chars)
        limits.setattr(markdown_document, "MOST_CHARS", most)
        return read(text)


def spans(blocks: tuple[Block, ...]) -> list[tuple[int, int]]:
    return [(block.span.start, block.span.end) for block in blocks if isinstance(block.span, LineSpan)]


@given(parts=st.lists(st.sampled_from(PARTS), min_size=1, max_size=25), chars=st.integers(10, 90))
def test_pieces_give_the_blocks_of_the_whole(parts: list[str], chars: int) -> None:
    text = "# first\n\n" + "".join(parts)
    assert in_pieces(text, pytest.MonkeyPatch(), chars) == read(text)


def test_a_link_is_resolved_by_a_definition_in_a_later_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "see [one] here\n\n" + "filling\n\n" * 30 + "[one]: https://example.org/1\n"
    payload = in_pieces(text, monkeypatch, 50).blocks[0].payload
    assert isinstance(payload, Text)
    assert [link.href for link in payload.links] == ["https://example.org/1"]


def test_a_table_longer_than_a_piece_goes_on_below_its_header(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "| a | b |\n|---|---|\n" + "".join(f"| {n} | x |\n" for n in range(60)) + "\nend\n"
    document = in_pieces(text, monkeypatch, 100, 200)
    *tables, end = document.blocks
    assert len(tables) > 2
    assert end.kind == "paragraph"
    payloads = [block.payload for block in tables if isinstance(block.payload, Table)]
    assert {payload.headers for payload in payloads} == {("a", "b")}
    assert [row for payload in payloads for row in payload.rows] == [(str(n), "x") for n in range(60)]
    assert_lines_once(spans(tuple(tables)), 1, 62)


def test_code_longer_than_a_piece_stays_code(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "```py\n" + "".join(f"# {n}\n" for n in range(60)) + "```\n\nend\n"
    *code, end = in_pieces(text, monkeypatch, 50, 100).blocks
    assert len(code) > 2
    payloads = [block.payload for block in code if isinstance(block.payload, Code)]
    assert {payload.lang for payload in payloads} == {"py"}
    assert "\n".join(payload.code for payload in payloads).split() == "".join(f"# {n}\n" for n in range(60)).split()
    assert (end.kind, len(payloads)) == ("paragraph", len(code))
    assert_lines_once(spans(tuple(code)), 1, 62)


def test_a_list_longer_than_a_piece_is_cut_between_items(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(f"- item {n}\n  goes on\n" for n in range(60))
    lists = in_pieces(text, monkeypatch, 100, 200).blocks
    payloads = [block.payload for block in lists if isinstance(block.payload, List)]
    assert len(payloads) == len(lists) > 2
    assert [item for payload in payloads for item in payload.items] == [f"item {n}\ngoes on" for n in range(60)]
    assert_lines_once(spans(lists), 1, 120)


def test_a_comment_longer_than_a_piece_stays_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "shown\n\n%%\n" + "hidden\n\n" * 50 + "%%\nshown again\n"
    blocks = in_pieces(text, monkeypatch, 50, 100).blocks
    assert spans(blocks) == [(1, 1), (105, 105)]


@pytest.mark.slow
def test_the_parser_never_sees_more_than_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    parse = markdown_document.parse_lines

    def counted(lines: list[str], references: dict[str, object]) -> object:
        seen.append(sum(map(len, lines)))
        return parse(lines, references)

    monkeypatch.setattr(markdown_document, "parse_lines", counted)
    for text in ("prose\n\n" * 2_000, "- item\n" * 2_000, "> quoted\n" * 2_000, "# h\n" * 2_000, "line\n" * 2_000):
        in_pieces(text, monkeypatch, 500, 1_000)
    assert max(seen) <= 1_000


@pytest.mark.slow
@pytest.mark.parametrize("line", ["- item\n", "| a | b |\n", "> quoted\n", "prose\n"])
def test_the_tokens_of_one_parse_are_gone_before_the_next(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dense table's tokens take hundreds of megabytes for a piece: two trees of them are one too many."""
    alive = []
    parse = markdown_document.parse_lines

    def counted(lines: list[str], references: dict[str, object]) -> object:
        alive.append(sum(isinstance(each, Token) for each in gc.get_objects()))
        return parse(lines, references)

    head = "| a | b |\n|---|---|\n" if line.startswith("|") else ""
    monkeypatch.setattr(markdown_document, "parse_lines", counted)
    in_pieces(head + line * 400, monkeypatch, 1_000, 2_000)
    assert len(alive) > 3
    assert max(alive) <= 1, "the opening token of the block that is cut"


def test_more_blocks_than_memory_should_hold_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_builder, "MOST_BLOCKS", 100)
    with pytest.raises(FileTooLarge, match="more than 100 headings, paragraphs and lists"):
        read("# h\n" * 101)
    assert len(read("# h\n" * 100).blocks) == 100


def assert_lines_once(ranges: list[tuple[int, int]], first: int, last: int) -> None:
    """The ranges follow each other without a gap."""
    assert [line for start, end in ranges for line in range(start, end + 1)] == list(range(first, last + 1))
