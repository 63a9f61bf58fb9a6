"""Markers of a generated text are read, and never shown where they point at nothing."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.answer.generated_text import MarkerFilter, take_markers, without_brackets


@pytest.mark.parametrize(
    ("text", "bare", "marks"),
    [
        ("It is blue [1].", "It is blue.", ((10, (1,)),)),
        ("파랗다 [#2]", "파랗다", ((3, (2,)),)),
        ("Both [1, #3][4] agree.", "Both agree.", ((4, (1, 3)), (4, (4,)))),
        ("an array a[i] and [x] stay", "an array a[i] and [x] stay", ()),
        ("Nested [[9]8] go as one.", "Nested go as one.", ((6, (9, 8)),)),
        ("Wide 【2】 and [\u200b3].", "Wide and.", ((4, (2,)), (8, (3,)))),
        ("A range [1-3].", "A range.", ((7, (1, 2, 3)),)),
        ("A date [2024-01-02] and a box [ ] stay.", "A date [2024-01-02] and a box [ ] stay.", ()),
        ("One is open [[1] here.", "One is open [ here.", ((13, (1,)),)),
    ],
)
def test_markers_are_taken_out_and_kept_by_place(
    text: str, bare: str, marks: tuple[tuple[int, tuple[int, ...]], ...]
) -> None:
    assert take_markers(text) == (bare, marks)


@given(
    st.lists(
        st.sampled_from(["blue ", "[1]", "[#2]", "[9]", "[", "]", "1", "8", "#", " ,", "[1, 9]", "끝."]), max_size=12
    ),
    st.integers(1, 4),
)
def test_a_stream_never_shows_an_unknown_marker_however_it_is_cut(parts: list[str], size: int) -> None:
    text = "".join(parts)
    markers = MarkerFilter([1, 2])
    shown = "".join(markers.feed(text[at : at + size]) for at in range(0, len(text), size)) + markers.end()
    assert set(re.findall(r"\[\s*#?(\d+)\s*\]", shown)) <= {"1", "2"}
    assert take_markers(shown).text.replace(" ", "") == take_markers(text).text.replace(" ", "")


@pytest.mark.slow
def test_brackets_without_end_are_no_marker_and_cost_no_time() -> None:
    for part in ("[", "[ ", "[1", " ", "[]", "1]"):
        markers = MarkerFilter([1])
        shown = "".join(markers.feed(part) for _ in range(20_000)) + markers.end()
        assert set(re.findall(r"\[\s*#?(\d+)\s*\]", shown)) <= {"1"}


def test_what_reads_as_a_marker_in_quoted_words_gets_other_brackets() -> None:
    text = "as in [3], see [1][2] but a[1], m[[1]], [[1]], [1](url), `x [1]`, [4] and [#1]"
    assert without_brackets(text, {1, 2, 3}) == text.replace("in [3]", "in ［3］").replace("[1][2]", "［1］［2］")


def test_text_is_handed_on_as_soon_as_it_can_be_no_marker() -> None:
    markers = MarkerFilter([1])
    assert markers.feed("The answer") == "The answer"
    assert markers.feed(" is [") == " is"
    assert markers.feed("x]") == " [x]"
