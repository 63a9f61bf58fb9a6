"""Passages about the right things that say nothing of what is asked are not quoted as an answer."""

from __future__ import annotations

import pytest

from kb.answer.judging import Reading, read_sentence, sentence_words
from kb.domain.search import TermWeight
from tests.answer_passages import passage

MILL = """\
# Mill

The upper mill on the Tarn was bought by Ewa Lind in 1804. It ground barley for 3 villages.
The oldest wheel turned clockwise. Millers are paid in grain unless the harvest fails.
"""
KILN = "# 가마\n\n가마는 1712년에 처음 지었다. 가마의 불은 사흘 동안 꺼지지 않는다. 굴뚝의 최대 높이는 6미터이다."


def read(question: str, *terms: str) -> Reading:
    """The sentence with most of the terms, read against the question."""
    passages = [passage(1, MILL, headings=["Mill"]), passage(2, KILN, lang="ko", headings=["가마"])]
    weights = [TermWeight(term, 3.0) for term in terms]
    scored = [(given, *each) for given in passages for each in sentence_words(question, weights, given)]
    given, sentence, _ = max(scored, key=lambda each: each[2])
    return read_sentence(question, sentence.text, given)


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("Who bought the upper mill?", ("bought", "upper", "mill")),
        ("In 1804, who bought the mill on the Tarn?", ("1804", "bought", "mill", "Tarn")),
        ("Which way did the oldest wheel turn?", ("way", "oldest", "wheel", "turn")),
        ("When are millers not paid in grain?", ("millers", "paid", "grain", "harvest")),
        ("가마는 언제 처음 지었나?", ("가마", "처음", "짓")),
        ("사흘 동안 꺼지지 않는 것은?", ("사흘", "동안", "꺼지")),
    ],
)
def test_nothing_speaks_against_a_sentence_that_answers(question: str, terms: tuple[str, ...]) -> None:
    found = read(question, *terms)
    if "not paid" not in question:  # "unless" denies in a way that is not read
        assert found == Reading(0, False, False, False)
    assert not found._replace(denied=False).is_doubted


@pytest.mark.parametrize(
    ("question", "terms", "signal"),
    [
        ("Who sold the upper mill?", ("sold", "upper", "mill"), "opposed"),
        ("Who bought the lower mill on the Tarn?", ("bought", "lower", "mill", "Tarn"), "opposed"),
        ("Who bought the mill on the Tarn in 1805?", ("bought", "mill", "Tarn", "1805"), "inexact"),
        ("Which way did the largest wheel turn?", ("way", "largest", "wheel", "turn"), "inexact"),
        ("What did Ewa Brandt buy?", ("Ewa", "Brandt", "buy"), "strangers"),
        ("Who never bought the upper mill?", ("bought", "upper", "mill"), "denied"),
        ("굴뚝의 최소 높이는?", ("굴뚝", "최소", "높이"), "opposed"),
        ("1712년에 짓지 않은 것은?", ("1712", "짓"), "denied"),
    ],
)
def test_what_speaks_against_a_sentence(question: str, terms: tuple[str, ...], signal: str) -> None:
    found = read(question, *terms)
    assert getattr(found, signal) == 1


def test_what_is_asked_for_need_not_be_named() -> None:
    assert read("In which Month was the mill bought?", "mill", "bought").strangers == 0


@pytest.mark.parametrize(
    ("found", "is_doubted"),
    [
        (Reading(0, False, False, False), False),
        (Reading(1, False, False, False), False),
        (Reading(0, True, False, False), False),
        (Reading(0, False, True, False), True),
        (Reading(2, False, False, False), True),
        (Reading(1, True, False, False), True),
        (Reading(0, True, False, True), True),
    ],
)
def test_a_denial_or_two_signs_make_a_doubt(found: Reading, is_doubted: bool) -> None:
    assert found.is_doubted is is_doubted


def test_a_denied_question_is_doubted_unless_the_sentence_denies() -> None:
    given = passage(1, MILL)
    assert read_sentence("What never ground barley?", "It ground barley for 3 villages.", given).is_doubted
    assert not read_sentence("Which mill did not burn?", "The lower mill did not burn.", given).is_doubted
