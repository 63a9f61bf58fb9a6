"""Passages about the right things that say nothing of what is asked are not quoted as an answer."""

from __future__ import annotations

import pytest

from kb.answer.extractive import choose_sentences
from kb.answer.quoting import quote_answer
from kb.answer.reading import Reading, read_chosen, reading_evidence, reading_model
from kb.domain.passages import TermWeight
from tests.answer_passages import passage

MILL = """\
# Mill

The upper mill on the Tarn was bought by Ewa Lind in 1804. It ground barley for 3 villages.
The oldest wheel turned clockwise. Millers are paid in grain unless the harvest fails.
"""
KILN = "# 가마\n\n가마는 1712년에 처음 지었다. 가마의 불은 사흘 동안 꺼지지 않는다. 굴뚝의 최대 높이는 6미터이다."
NEAR = 0.1


def read(question: str, *terms: str, nearness: float | None = NEAR) -> Reading:
    passages = [passage(1, MILL, headings=["Mill"]), passage(2, KILN, lang="ko", headings=["가마"])]
    weights = [TermWeight(term, 3.0) for term in terms]
    return read_chosen(question, choose_sentences(question, weights, passages, limit=1), passages, nearness)


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
        assert found == Reading(NEAR, 0, 0, 0, 0)
    assert reading_evidence(found._replace(denied=0)) > reading_model().gate


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
    assert reading_evidence(found) < reading_evidence(found._replace(**{signal: 0}))


def test_what_is_asked_for_need_not_be_named() -> None:
    assert read("In which Month was the mill bought?", "mill", "bought").strangers == 0


def test_words_alone_are_read_as_usual() -> None:
    assert read("Who bought the upper mill?", "bought", "upper", "mill", nearness=None).nearness > 0


def test_a_denied_question_is_refused_unless_a_sentence_denies() -> None:
    passages = [passage(1, MILL), passage(2, "The mill was not sold. The lower mill did not burn.")]
    weights = [TermWeight("lower", 3.0), TermWeight("mill", 3.0), TermWeight("burn", 3.0)]
    refused = quote_answer("What never ground barley?", [TermWeight("barley", 3.0)], passages[:1], NEAR)
    kept = quote_answer("Which mill did not burn?", weights, passages, NEAR)
    assert refused.reading is not None
    assert kept.reading is not None
    assert refused.reading < reading_model().gate <= kept.reading


def test_without_a_sentence_there_is_nothing_to_read() -> None:
    assert quote_answer("mill", [TermWeight("mill", 3.0)], [passage(1, "# Mill\n")], 0.1) == ("", (), (), None)
