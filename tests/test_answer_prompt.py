"""What a model is shown: the question whole, the passages that fit, nothing in them that could pass for more."""

from __future__ import annotations

import pytest

from kb.answer.prompt import build_prompt, pack
from kb.domain.answers import Turn
from kb.domain.generation import Message
from kb.domain.search import Passage
from kb.errors import PromptTooLong
from tests.answer_passages import ScriptedModel, passage

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
