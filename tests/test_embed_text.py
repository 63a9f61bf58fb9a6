"""What every encoder gets to see of a text."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.embed.text import encoder_text


def test_decomposed_hangul_is_composed() -> None:
    assert encoder_text(unicodedata.normalize("NFD", "한국어 café")) == "한국어 café"


def test_nul_is_dropped_and_the_text_after_it_kept() -> None:
    assert encoder_text("before\0after 뒤") == "beforeafter 뒤"


@pytest.mark.parametrize("mark", ["<s>", "</s>", "<pad>", "<unk>", "<mask>"])
def test_marks_in_a_text_are_text(mark: str) -> None:
    assert mark not in encoder_text(f"a {mark} b")
    assert encoder_text(f"a {mark} b").replace(" ", "") == f"a{mark}b"


def test_unpaired_surrogates_become_question_marks() -> None:
    assert encoder_text("한\udc80글") == "한?글"


@given(st.text())
def test_result_is_encodable_and_stable(text: str) -> None:
    once = encoder_text(text)
    once.encode()
    assert encoder_text(once) == once
