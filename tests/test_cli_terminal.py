"""Text that comes in pieces is folded as it comes, at spaces, whatever the pieces."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kb.cli.output.terminal import Folding, plain_start, width_cells

WORDS = st.sampled_from(["a", "word", "gateway", "배터리", "네", "시간을", "[1].", "\n", "- item"])


def folded(pieces: list[str], width: int) -> str:
    folding = Folding(width)
    return "".join(folding.feed(piece) for piece in pieces) + folding.end()


@given(st.lists(WORDS, max_size=30), st.integers(1, 7), st.integers(12, 40))
def test_lines_fit_and_no_word_is_cut(words: list[str], size: int, width: int) -> None:
    text = " ".join(words)
    shown = folded([text[at : at + size] for at in range(0, len(text), size)], width)
    assert shown.split() == text.split()
    assert all(width_cells(line.rstrip()) <= width for line in shown.split("\n"))


def test_a_word_is_shown_as_soon_as_it_is_whole() -> None:
    folding = Folding(20)
    assert folding.feed("The gate") == "The "
    assert folding.feed("way retries a") == "gateway retries "
    assert folding.feed("gain") == ""
    assert folding.end() == "\nagain"


def test_a_text_without_spaces_still_comes() -> None:
    folding = Folding(10)
    assert folding.feed("x" * 12) == "x" * 12
    assert folded(["가" * 40], 10) == "가" * 40


def test_the_beginning_of_a_long_text_on_one_line() -> None:
    assert plain_start("a\nb \x1b[31m") == "a b \ufffd[31m"
    assert plain_start("x" * 500) == "x" * 99 + "…"
