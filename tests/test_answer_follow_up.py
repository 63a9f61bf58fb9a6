"""A question that leans on the one before it is searched for together with that."""

from __future__ import annotations

import pytest

from kb.answer.questions import follows_up, resolve
from kb.domain.answers import Turn

BEFORE = (Turn(0, "배터리는 몇 시간을 버티나?", "네 시간 [1]", "배터리는 몇 시간을 버티나?"),)


@pytest.mark.parametrize(
    "question",
    [
        "그럼 그건 언제야?",
        "거기는 왜?",
        "언제?",
        "그 회사는 어디 있어?",
        "When was it built?",
        "And why?",
        "What about costs?",
    ],
)
def test_what_points_back_follows_up(question: str) -> None:
    assert follows_up(question)


@pytest.mark.parametrize(
    "question",
    [
        "게이트웨이는 몇 번 다시 시도하나?",
        "센서 교체는 언제 하나?",
        "How often does the gateway retry?",
        "이순신 장군은 언제 죽었나?",
    ],
)
def test_what_stands_by_itself_does_not(question: str) -> None:
    assert not follows_up(question)


def test_a_follow_up_is_searched_for_behind_what_was_asked_before() -> None:
    assert resolve("그럼 교체는?", BEFORE) == "배터리는 몇 시간을 버티나? 그럼 교체는?"
    assert resolve("그럼 교체는?", ()) == "그럼 교체는?"
    assert resolve("게이트웨이는 몇 번 다시 시도하나?", BEFORE) == "게이트웨이는 몇 번 다시 시도하나?"
