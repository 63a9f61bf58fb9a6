"""The token estimate stays on the upper side, adds up, and grows with the text, whatever the text is."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.chunk.tokens import MARGIN_TOKENS, estimate_tokens, token_weight

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
