"""What a model is shown, and how its text is taken in: markers, refusals, thoughts."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from answer_passages import ScriptedModel, passage
from hypothesis import given
from hypothesis import strategies as st

from kb.answer.generated_text import (
    MarkerFilter,
    ThoughtFilter,
    is_refusal,
    take_markers,
    without_brackets,
    without_thoughts,
)
from kb.answer.prompt import build_prompt, pack
from kb.domain.answers import Turn
from kb.domain.generation import Message
from kb.domain.search import Passage
from kb.errors import PromptTooLong

SENTENCES = "The gateway retries a failed upload five times and more. Then it keeps the whole batch on the local disk."


def build(
    passages: tuple[Passage, ...], budget: int, question: str = "How often?", history: tuple[Turn, ...] = ()
) -> tuple[tuple[Message, ...], tuple[Passage, ...]]:
    return build_prompt("rag-v3", question, "en", passages, history, ScriptedModel(""), budget)


def test_places_in_what_is_filled_in_are_left_alone() -> None:
    messages, _ = build((passage(1, "{question} {passages} {language}"),), 2000, "what is {passages}?")
    assert "| {question} {passages} {language}" in messages[-1].content
    assert messages[-1].content.endswith("Question: what is {passages}?")


def test_passages_are_packed_best_first_and_numbered_without_gaps() -> None:
    huge = passage(2, "word " * 500)
    _, packed = build((passage(1, SENTENCES), huge, passage(3, SENTENCES)), 260)
    assert [(each.number, each.chunk_id[-1]) for each in packed] == [(1, "1"), (2, "3")]


def test_the_best_passage_is_cut_behind_a_sentence_where_it_does_not_fit() -> None:
    best = passage(1, " ".join([SENTENCES] * 40))
    packed = pack((best, passage(2, SENTENCES)), 50, lambda each: len(each.text.split()))
    assert len(packed) == 1
    assert best.text.startswith(packed[0].text)
    assert packed[0].text.endswith(".")
    assert 20 < len(packed[0].text.split()) <= 50


def test_a_passage_of_one_endless_sentence_leaves_the_room_to_the_next() -> None:
    endless = passage(1, "word " * 500)
    packed = pack((endless, passage(2, SENTENCES)), 50, lambda each: len(each.text.split()))
    assert [(each.number, each.chunk_id[-1]) for each in packed] == [(1, "2")]


def test_where_nothing_else_fits_one_short_sentence_is_given() -> None:
    endless = passage(1, "The pump runs. Then " + "word " * 500)
    packed = pack((endless, passage(2, "word " * 500)), 50, lambda each: len(each.text.split()))
    assert [each.text for each in packed] == ["The pump runs."]


def test_a_question_is_never_cut() -> None:
    question = "why " * 100
    messages, _ = build((passage(1, SENTENCES),), 400, question)
    assert question.strip() in messages[-1].content
    with pytest.raises(PromptTooLong, match="leaves 0 of 150 tokens"):
        build((passage(1, SENTENCES),), 150, question)


def test_of_a_conversation_the_newest_turns_that_fit_are_shown() -> None:
    turns = tuple(Turn(at, f"question {at} " * 10, f"answer {at} " * 10, "q") for at in range(6))
    messages, packed = build((passage(1, SENTENCES),), 300, "And now?", turns)
    shown = [message.content for message in messages[1:-1]]
    assert packed
    assert 0 < len(shown) < 12
    assert shown[-1] == turns[-1].answer.strip()
    assert shown[0] == turns[6 - len(shown) // 2].question.strip()


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
