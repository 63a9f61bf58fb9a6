"""Passages in another language are quoted by meaning alone; what a sentence announces is quoted with it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kb.answer.across import choose_across
from kb.answer.listing import with_listing
from kb.answer.quoting import quote_across, quote_answer
from kb.domain.citations import LineCitation
from kb.domain.passages import Passage, TermWeight
from kb.language.sentences import sentences
from tests.answer_passages import passage

KOREAN = '배터리는 3월에 교체한다.\n\n<img src="battery.png">\n\n창고는 북쪽에 있다.'
MEANS = {"배터리는 3월에 교체한다.": 0.8, "창고는 북쪽에 있다.": 0.4, "여분의 배터리는 창고에 있다.": 0.75}


def similarity(question: str, sentences: Sequence[str]) -> list[float]:
    return [MEANS.get(sentence, 0.99) for sentence in sentences]


def foreign(number: int, text: str) -> Passage:
    found = passage(number, text, lang="ko")
    return found._replace(retrieval=found.retrieval._replace(is_own=False))


def test_only_passages_in_the_other_language_are_quoted_by_what_they_mean() -> None:
    own = passage(1, "A battery is a battery.")
    quoted = quote_across(
        "When is the battery replaced?",
        [own, foreign(2, KOREAN), foreign(3, "여분의 배터리는 창고에 있다.")],
        similarity,
    )
    assert [claim.quote for claim in quoted.claims] == ["배터리는 3월에 교체한다.", "여분의 배터리는 창고에 있다."]
    assert [each.doc_path for each in quoted.cited] == ["notes/2.md", "notes/3.md"]
    assert quoted.text.startswith("배터리는 3월에 교체한다. [1]")
    assert quoted.reading is None


def test_a_sentence_far_behind_the_nearest_is_not_quoted() -> None:
    chosen = choose_across("When is the battery replaced?", [foreign(1, KOREAN)], similarity, limit=3)
    assert [each.sentence.text for each in chosen] == ["배터리는 3월에 교체한다."]


def test_no_more_is_compared_than_a_few_sentences_of_three_passages() -> None:
    compared: list[str] = []

    def count(question: str, sentences: Sequence[str]) -> list[float]:
        compared.extend(sentences)
        return [0.5] * len(sentences)

    long = "\n\n".join(f"{n}번째 문장이다." for n in range(50))
    choose_across("?", [foreign(n, long.replace("문장", f"문장{n}")) for n in range(1, 9)], count, limit=3)
    assert len(compared) == 24


def test_there_may_be_nothing_in_the_other_language() -> None:
    assert quote_across("battery?", [passage(1, "A battery.")], similarity).claims == ()


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("Run it like this:\n\n```\na b\n\nc\n```\n\nThen wait.", "Run it like this:\n\n```\na b\n\nc\n```"),
        ("It has three parts:\n- wheel\n- axle\n  of iron\n\nMore.", "It has three parts:\n- wheel\n- axle\n  of iron"),
        ("순서는 다음과 같다:\n\n1. 끈다.\n2. 기다린다.", "순서는 다음과 같다:\n\n1. 끈다.\n2. 기다린다."),
        ("One thing:\n\nA paragraph.", "One thing:"),
        ("Unclosed:\n\n```\ncode", "Unclosed:"),
        ("Long:\n\n" + "\n".join(f"- item {n}" for n in range(40)), "Long:"),
        ("It ends here.\n\n- item", "It ends here."),
    ],
)  # fmt: skip
def test_what_a_colon_announces_is_quoted_with_it(text: str, whole: str) -> None:
    found = passage(1, text)
    first = sentences(found)[0]
    quoted = with_listing(found, first)
    assert quoted.text == whole == text[quoted.start : quoted.end]


def test_a_list_and_an_item_of_it_are_quoted_once_with_their_lines() -> None:
    found = passage(1, "The pump needs:\n\n- a seal\n- oil for the pump\n\nThe valve is new.")
    quoted = quote_answer("What does the pump need?", [TermWeight("pump", 3.0), TermWeight("need", 3.0)], [found], 0.1)
    assert quoted.claims[0].quote == "The pump needs:\n\n- a seal\n- oil for the pump"
    assert quoted.claims[0].citation == LineCitation("notes/1.md", 10, 13)
    assert sum("oil" in claim.text for claim in quoted.claims) == 1
