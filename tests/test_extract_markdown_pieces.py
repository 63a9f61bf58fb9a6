"""Long Markdown is parsed in pieces and gives the blocks of the whole; longer blocks are cut between lines."""

from __future__ import annotations

import gc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it.token import Token

from kb.domain.documents import Block, Code, Document, List, Table, Text
from kb.domain.ids import AssetId
from kb.domain.spans import LineSpan
from kb.domain.text import WorkspacePath
from kb.errors import FileTooLarge
from kb.extract import document_builder
from kb.extract.markdown import document as markdown_document
from kb.extract.markdown.document import extract_markdown

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


def read(text: str) -> Document:
    return extract_markdown(text.encode(), workspace_path=WorkspacePath("a.md"), asset_id=AssetId("a" * 32))


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
