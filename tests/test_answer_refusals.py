"""A model's refusal is told from an answer by what it is about; what a model thinks aloud is never part of either."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.answer.generated_text import ThoughtFilter, is_refusal, without_thoughts
from tests.answer_passages import passage

PHRASINGS = [
    tuple(line.split("\t"))
    for line in Path(__file__).with_name("model_refusals.tsv").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize(("kind", "text"), PHRASINGS)
def test_a_refusal_is_told_from_an_answer_that_denies_something(kind: str, text: str) -> None:
    assert is_refusal(text, ()) is (kind == "refusal")


@pytest.mark.parametrize("text", ["", "[1]", "[1][2]", "Sorry. The notes do not cover this. The roof is red [1]."])
def test_a_text_that_says_nothing_or_begins_by_refusing_is_a_refusal(text: str) -> None:
    assert is_refusal(text, (passage(1, "The roof is red."),))


def test_a_sentence_of_the_notes_that_sounds_like_a_refusal_is_an_answer() -> None:
    text = "The documents do not mention a warranty, wrote the lawyer."
    assert is_refusal("The documents do not mention a warranty [1].", ())
    assert not is_refusal("The documents do not mention a warranty [1].", (passage(1, text),))


THINKING = [
    ("<think>Which roof? The red one.</think>The roof is red [1].", "The roof is red [1]."),
    ("The roof <THINK>red\n\nor blue?</THINK>is red.", "The roof is red."),
    ("< thinking >x< / thinking >Red.", "Red."),
    ("<think>never ends", ""),
    ("Yes. <think>a</think><think>b</think>No.", "Yes. No."),
    ("It begins with `<think>` and ends with `</think>`.", "It begins with `<think>` and ends with `</think>`."),
    ("a < b and <thin> air", "a < b and <thin> air"),
]


@pytest.mark.parametrize(("text", "shown"), [*THINKING, ("It was begun elsewhere.</think> Red.", "Red.")])
def test_what_a_model_thinks_aloud_is_no_part_of_its_answer(text: str, shown: str) -> None:
    assert without_thoughts(text) == shown


@given(st.sampled_from(THINKING), st.lists(st.integers(0, 80), max_size=12))
def test_thoughts_are_left_out_wherever_a_stream_is_cut(case: tuple[str, str], cuts: list[int]) -> None:
    text, shown = case
    at = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    filtered = ThoughtFilter()
    pieces = [filtered.feed(text[start:end]) for start, end in pairwise(at)]
    assert "".join(pieces) + filtered.end() == shown
