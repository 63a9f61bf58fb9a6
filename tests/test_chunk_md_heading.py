"""Chunks are exact, complete, small enough, and cut where a reader would cut; the token estimate behind their size."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.chunk.chunkers import chunk_by_headings
from kb.chunk.cutting import WINDOW_TOKENS, policy_hash
from kb.chunk.tokens import MARGIN_TOKENS, estimate_tokens, token_weight
from kb.domain.documents import Chunk, ChunkPolicy, Document
from kb.domain.ids import AssetId, chunk_id
from kb.domain.text import WorkspacePath
from kb.extract.markdown.document import extract_markdown

POLICY = ChunkPolicy(500, 80, True, "md-heading-v1")
SMALL = ChunkPolicy(60, 20, True, "md-heading-v1")
ENGLISH = "The index holds every word of the text. "
KOREAN = "색인에는 본문의 모든 단어가 들어 있다. "


def read(text: str) -> Document:
    return extract_markdown(text.encode(), workspace_path=WorkspacePath("note.md"), asset_id=AssetId("0" * 32))


def cut(text: str, policy: ChunkPolicy = POLICY) -> tuple[Chunk, ...]:
    doc = read(text)
    chunks = chunk_by_headings(doc, policy)
    assert_sound(doc, chunks)
    return chunks


def texts(chunks: tuple[Chunk, ...]) -> list[str]:
    return [chunk.text for chunk in chunks]


def assert_sound(doc: Document, chunks: tuple[Chunk, ...]) -> None:
    """What holds for the chunks of any document under any policy."""
    lines = doc.source_text.split("\n")
    covered: set[int] = set()
    for chunk in chunks:
        cited = lines[chunk.spans[0].start - 1 : chunk.spans[0].end]
        assert chunk.text in "\n".join(cited)
        assert chunk.text == chunk.text.strip() != ""
        assert chunk.text.count("\n") == len(cited) - 1
        covered.update(range(chunk.spans[0].start, chunk.spans[0].end + 1))
        assert chunk.token_estimate == estimate_tokens(chunk.text) <= WINDOW_TOKENS
        touched = [b for b in doc.blocks if b.span.start <= chunk.spans[0].end and b.span.end >= chunk.spans[0].start]
        assert chunk.block_ids == tuple(block.block_id for block in touched)
        assert chunk.chunk_id == chunk_id(doc.doc_id, chunk.chunker_version, chunk.block_ids, chunk.policy_hash)
    missing = [
        line
        for block in doc.blocks
        for line in range(block.span.start, block.span.end + 1)
        if lines[line - 1].strip() and line not in covered
    ]
    assert missing == []
    assert len({chunk.chunk_id for chunk in chunks}) == len(chunks)


def test_a_section_that_fits_is_one_chunk() -> None:
    first, second = cut("# A\n\na\n\n- b\n\n---\n\nc\n\n## B\n\nd\n")
    assert first.text == "# A\n\na\n\n- b\n\n---\n\nc"
    assert (first.heading_path, first.section_label) == (("A",), "A")
    assert (first.spans[0].start, first.spans[0].end) == (1, 9)
    assert second.text == "## B\n\nd"
    assert (second.heading_path, second.section_label) == (("A", "B"), "B")
    assert first.policy_hash == second.policy_hash == policy_hash(POLICY)


def test_a_heading_without_a_body_joins_the_next_section() -> None:
    (chunk,) = cut("# A\n\n## B\n\n### C\n\nd")
    assert chunk.heading_path == ("A", "B", "C")
    body, alone = cut("# A\n\na\n\n## B")
    assert body.text == "# A\n\na"
    assert (alone.text, alone.heading_path) == ("## B", ("A", "B"))


def test_text_before_the_first_heading() -> None:
    intro, _ = cut("intro\n\n# A\n\na")
    assert (intro.text, intro.heading_path, intro.section_label) == ("intro", (), None)


def test_headings_are_packed_across_on_request() -> None:
    across = replace(POLICY, respect_markdown_headings=False)
    (chunk,) = cut("# A\n\na\n\n# B\n\nb", across)
    assert chunk.text == "# A\n\na\n\n# B\n\nb"
    assert chunk.heading_path == ("A",)


def test_a_paragraph_above_the_target_is_cut_though_the_window_would_hold_it() -> None:
    chunks = cut(ENGLISH * 20, SMALL)
    assert all(chunk.token_estimate <= SMALL.target_tokens for chunk in chunks)


def test_a_short_introduction_stays_with_the_code_it_introduces() -> None:
    code = "```py\n" + "value = compute(value)\n" * 6 + "```"
    assert SMALL.target_tokens - 10 < estimate_tokens(code)
    assert f"So:\n\n{code}" in texts(cut(f"So:\n\n{code}\n\n{ENGLISH * 9}", replace(SMALL, overlap_tokens=0)))


def test_paragraphs_stay_whole_where_they_fit() -> None:
    paragraphs = [f"{number} " + ENGLISH * 3 for number in range(8)]
    chunks = cut("\n\n".join(paragraphs), replace(SMALL, overlap_tokens=0))
    assert "\n\n".join(texts(chunks)) == "\n\n".join(p.strip() for p in paragraphs)
    assert all(chunk.policy_hash == policy_hash(replace(SMALL, overlap_tokens=0)) for chunk in chunks)


@pytest.mark.parametrize(
    "sentence", [ENGLISH, KOREAN, "정말 그럴까요? ", 'He asked, "Is it?" ', "索引にはすべての語がある。"]
)
def test_long_paragraphs_are_cut_after_sentences(sentence: str) -> None:
    chunks = cut(sentence * 60, replace(SMALL, overlap_tokens=0))
    assert len(chunks) > 3
    assert all(chunk.text.endswith(sentence.strip()) for chunk in chunks)
    assert all(chunk.text.startswith(sentence.split()[0]) for chunk in chunks)
    assert len({chunk.policy_hash for chunk in chunks}) == len(chunks)
    assert all(chunk.policy_hash.startswith(policy_hash(replace(SMALL, overlap_tokens=0)) + "@") for chunk in chunks)


def test_numbers_and_names_do_not_end_sentences() -> None:
    chunks = cut("See kb.toml v3.14 at example.com/a.b then " * 40, SMALL)
    assert not any(chunk.text.endswith(("kb.", "3.")) for chunk in chunks)


def test_a_text_without_sentences_is_cut_between_words() -> None:
    chunks = cut("word " * 400, replace(SMALL, overlap_tokens=0))
    assert " ".join(texts(chunks)) == ("word " * 400).strip()


def test_a_text_without_spaces_is_cut_between_characters() -> None:
    chunks = cut("가나다라" * 500, replace(SMALL, overlap_tokens=0))
    assert "".join(texts(chunks)) == "가나다라" * 500


def test_long_lists_and_quotes_are_cut_by_line() -> None:
    items = [f"- item {number} of the list, which says little" for number in range(60)]
    assert "\n".join(texts(cut("\n".join(items), replace(SMALL, overlap_tokens=0)))) == "\n".join(items)


@pytest.mark.parametrize(
    ("opening", "line", "closing"),
    [("```py\n", "value = compute(value)\n", "```"), ("|a|b|\n|-|-|\n", "|some words|more words|\n", "")],
)
def test_code_and_tables_stay_whole_up_to_the_window(opening: str, line: str, closing: str) -> None:
    fitting = opening + line * 16 + closing
    assert WINDOW_TOKENS > estimate_tokens(fitting) > 2 * SMALL.target_tokens
    assert fitting.strip() in texts(cut(ENGLISH * 6 + "\n\n" + fitting + "\n\n" + ENGLISH * 6, SMALL))
    chunks = cut(opening + line * 200 + closing, SMALL)
    assert len(chunks) > 10
    assert all(chunk.text.endswith(line.strip()) for chunk in chunks[:-1])


def test_pieces_of_a_section_overlap_by_whole_sentences() -> None:
    sentences = [f"Sentence number {number} says something." for number in range(60)]
    chunks = cut("# A\n\n" + " ".join(sentences), SMALL)
    for before, after in pairwise(chunks):
        shared = next(n for n in range(len(after.text), -1, -1) if before.text.endswith(after.text[:n]))
        assert shared > 0
        assert after.text[:shared].strip().endswith(".")
        assert estimate_tokens(after.text[:shared]) <= SMALL.overlap_tokens + 3
    assert all(chunk.heading_path == ("A",) for chunk in chunks)


def test_no_overlap_across_headings() -> None:
    body = " ".join(f"Sentence number {number} says something." for number in range(12))
    for policy in (SMALL, replace(SMALL, respect_markdown_headings=False)):
        chunks = cut(f"# A\n\n{body}\n\n# B\n\n{body}", policy)
        assert sum("# B" in chunk.text for chunk in chunks) == 1
    of_b = next(chunk for chunk in cut(f"# A\n\n{body}\n\n# B\n\n{body}", SMALL) if "# B" in chunk.text)
    assert of_b.text.startswith("# B")


@pytest.mark.parametrize("count", range(8, 40))
def test_no_tiny_last_piece(count: int) -> None:
    chunks = cut(" ".join(f"Sentence number {number} says something." for number in range(count)), SMALL)
    assert chunks[-1].token_estimate >= 0.15 * SMALL.target_tokens


def test_hidden_text_between_blocks_counts_towards_the_window() -> None:
    hidden = "\n".join(f"[ref{number}]: https://example.com/a/long/path/{number}" for number in range(200))
    first, second = cut(f"a\n\n{hidden}\n\nb")
    assert (first.text, second.text) == ("a", "b")


def test_each_chunk_has_its_own_language() -> None:
    english, korean, code = cut(f"# A\n\n{ENGLISH * 3}\n\n# 나\n\n{KOREAN * 9}\n\n# C\n\n```\nx = 1\n```")
    assert [english.lang, korean.lang, code.lang] == ["en", "ko", "ko"]


def test_every_part_of_the_policy_changes_its_hash() -> None:
    hashes = {
        policy_hash(policy)
        for policy in (
            POLICY,
            replace(POLICY, target_tokens=400),
            replace(POLICY, overlap_tokens=0),
            replace(POLICY, respect_markdown_headings=False),
            replace(POLICY, chunker_version="md-heading-v2"),
        )
    }
    assert len(hashes) == 5
    assert policy_hash(POLICY) == policy_hash(replace(POLICY))


WORDS = st.sampled_from(
    ["word", "색인을", "Sentence.", "끝났다.", "a.b", "`code`", "#tag", "[[link]]", "가" * 90, "x" * 300, "!!", "。"]
)
PROSE = st.lists(WORDS, min_size=1, max_size=60).map(" ".join)
PIECES = st.one_of(
    PROSE,
    st.builds("{} {}".format, st.sampled_from(["#", "##", "###"]), st.sampled_from(["A", "나", ""])),
    st.lists(PROSE, min_size=1, max_size=5).map(lambda items: "\n".join(f"- {item}" for item in items)),
    st.lists(PROSE, min_size=1, max_size=5).map(lambda lines: "\n".join(f"> {line}" for line in lines)),
    st.lists(PROSE, min_size=1, max_size=9).map(lambda lines: "```\n" + "\n".join(lines) + "\n```"),
    st.lists(PROSE, min_size=1, max_size=9).map(lambda cells: "|a|\n|-|\n" + "\n".join(f"|{cell}|" for cell in cells)),
    st.sampled_from(["---", "%% hidden %%", "[ref]: https://example.com", "<!-- c -->", "\u3000", "![a](b.png)"]),
)
POLICIES = st.builds(
    ChunkPolicy,
    target_tokens=st.integers(1, 900),
    overlap_tokens=st.integers(0, 300),
    respect_markdown_headings=st.booleans(),
    chunker_version=st.just("md-heading-v1"),
)


@given(st.lists(PIECES, max_size=12).map("\n\n".join), POLICIES)
def test_any_document_under_any_policy(text: str, policy: ChunkPolicy) -> None:
    assert cut(text, policy) == cut(text, policy)


@given(st.text(max_size=3000), POLICIES)
def test_any_text_under_any_policy(text: str, policy: ChunkPolicy) -> None:
    doc = extract_markdown(
        text.encode("utf-8", errors="surrogatepass"), workspace_path=WorkspacePath("a.md"), asset_id=AssetId("0" * 32)
    )
    assert_sound(doc, chunk_by_headings(doc, policy))


@pytest.mark.skipif("KB_DATA" not in os.environ, reason="KB_DATA names no folder of sample corpora")
@pytest.mark.parametrize("corpus", ["notes-ko", "xling-fastapi", "cranfield"])
def test_chunks_of_real_notes(corpus: str) -> None:
    paths = sorted((Path(os.environ["KB_DATA"]) / corpus).rglob("*.md"))
    assert paths
    for path in paths:
        doc = extract_markdown(path.read_bytes(), workspace_path=WorkspacePath("a.md"), asset_id=AssetId("0" * 32))
        for policy in (POLICY, SMALL):
            assert_sound(doc, chunk_by_headings(doc, policy))


def test_a_line_of_wide_spaces_between_blocks_counts() -> None:
    words = "- " + "word " * 130
    for count in range(60):
        chunks = cut(
            f"{words}\n\n\u3000\n\n- {'xx ' * (200 + count)}", replace(POLICY, respect_markdown_headings=False)
        )
        assert all(chunk.token_estimate <= WINDOW_TOKENS for chunk in chunks)


# Text with the tokens that XLM-RoBERTa's vocabulary makes of it, special tokens not counted.
COUNTED = [
    ("The quick brown fox jumps over the lazy dog.", 13),
    ("대한민국의 수도는 서울특별시이다.", 7),
    ("def estimate_tokens(text: str) -> int:\n    return math.ceil(len(text) / 4)\n", 29),
    ("| name | size |\n|------|------|\n| `a.md` | 1,024 |\n", 28),
    ("FTS5의 unicode61 토크나이저는 한국어를 어절 단위로 자른다.", 22),
]


@pytest.mark.parametrize(("text", "tokens"), COUNTED)
def test_the_estimate_is_on_the_upper_side(text: str, tokens: int) -> None:
    assert tokens <= estimate_tokens(text) <= 2 * tokens + 3


def test_white_space_weighs_nothing() -> None:
    assert token_weight(" \n\t ") == 0
    assert estimate_tokens("") == math.ceil(MARGIN_TOKENS)


@given(st.lists(st.text()))
def test_pieces_at_white_space_weigh_as_much_apart_as_together(pieces: list[str]) -> None:
    together, apart = token_weight(" ".join(pieces)), sum(map(token_weight, pieces))
    assert math.isclose(together, apart, abs_tol=1e-6)


@given(st.text(), st.text(min_size=1))
def test_more_text_never_weighs_less(text: str, more: str) -> None:
    assert token_weight(text) <= token_weight(text + more) + 1e-9


@given(st.text())
def test_every_text_has_an_estimate(text: str) -> None:
    assert estimate_tokens(text) >= 1
    assert estimate_tokens(text + "\ud800") >= 1
