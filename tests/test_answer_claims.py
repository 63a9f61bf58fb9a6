"""A sentence is supported where a passage says it nearly word for word, and dropped where an exact fact differs."""

from __future__ import annotations

import pytest
from conftest import bounded_work

from benchmarks.claims import figures, pairs, verdict_on
from kb.answer.claims import Judged, judge_claim
from kb.answer.quantities import quantities
from tests.answer_passages import passage


def judged(source: str, claim: str, question: str = "") -> Judged:
    lang = "en" if source.isascii() else "ko"
    return judge_claim(claim, question, [passage(1, source, lang=lang)])


TEAM = "Mina maintains the parser, Jun maintains the index. Both report to Carla Weiss, who joined in March 2019."
SERVERS = "김민수가 결제 서버를 맡고 이영희가 검색 서버를 맡는다. 배포는 매주 화요일에 한다."


@pytest.mark.parametrize(
    ("source", "claim"),
    [
        ("The gateway retries a failed upload five times.", "The gateway retried the failed uploads 5 times."),
        ("Then the pump stops, and nobody may open the lid.", "Nobody may open the lid."),
        ("The gateway does not delete anything by itself.", "The gateway doesn't delete anything by itself."),
        (TEAM, "Jun maintains the index."),
        (SERVERS, "김민수가 결제 서버를 맡고 있다."),
        ("나비는 생선을 먹지 않는다.", "나비는 생선을 안 먹는다."),
        ("보증금은 3억 원이고 월세는 없다.", "보증금은 3억 원이다."),
        ("If the lid is open, the pump stops.", "If the lid is open, the pump stops."),
    ],
)
def test_what_a_sentence_holds_nearly_word_for_word_is_supported(source: str, claim: str) -> None:
    assert judged(source, claim) == Judged("support")


@pytest.mark.parametrize(
    ("source", "claim"),
    [
        ("The gateway retries a failed upload.", "The gateway does not retry a failed upload."),
        ("The gateway does not delete anything by itself.", "The gateway deletes everything by itself."),
        ("표와 코드 블록은 자르지 않는다.", "표와 코드 블록은 자른다."),
        ("The committee accepted Ivana's plan.", "The committee rejected Ivana's plan."),
        ("Rosa beat Ingrid in the final.", "Ingrid beat Rosa in the final."),
        ("수민이는 지호에게 자전거를 빌려주었다.", "지호가 수민이에게 자전거를 빌려주었다."),
        ("백제가 신라 사신을 붙잡았다.", "신라가 백제 사신을 붙잡았다."),
        ("출시를 4월 2일에서 4월 16일로 미룬다.", "출시를 4월 16일에서 4월 2일로 미룬다."),
        (TEAM, "Jun maintains the parser."),
        (SERVERS, "이영희가 결제 서버를 맡는다."),
        ("If the lid is open, the pump stops.", "The pump stops."),
        ("뚜껑이 열리면 펌프가 멈춘다.", "펌프가 멈춘다."),
        ("The pump may stop at night.", "The pump stops at night."),
        ("회비를 올릴 예정이다.", "회비를 올렸다."),
        ("Some of the drawers are locked.", "All of the drawers are locked."),
        ("The feature is supported since 2.1.", "The feature is unsupported since 2.1."),
        ("Olga drew the plan; Pavel rewrote it in 2020.", "Olga rewrote the plan in 2020."),
    ],
)
def test_other_negation_certainty_order_or_roles_are_not_supported(source: str, claim: str) -> None:
    assert judged(source, claim).verdict == "unknown"


@pytest.mark.parametrize(
    ("source", "claim", "why"),
    [
        (
            "The gateway retries a failed upload five times.",
            "The gateway retries a failed upload 7 times.",
            "“7” is in none of its passages",
        ),
        ("배터리는 네 시간을 버틴다.", "배터리는 48시간을 버틴다.", "“48”이(가) 근거 구절에 없음"),
        (
            "The heat pump replaced the boiler in October 2022.",
            "The heat pump replaced the boiler in August 2022.",
            "“August” is in none of its passages",
        ),
        ("보증금은 3억 원이고 관리비는 18만 원이다.", "보증금은 18만 원이다.", "그 자리에 “3억”, “18만”이(가) 아님"),
        (
            "Rent is due on day 3. The report went to Carla Weiss in Bergen.",
            "The report went to Carla Weiss in Oslo.",
            "“oslo” is in none of its passages",
        ),
        ("이영희가 조장을 맡는다. 김민수가 서기를 맡는다.", "이영희가 서기를 맡는다.", "그 자리에 “김민수”"),
        ("It stays on disk.", 'It stays "in the cloud for ever".', "the quotation “in the cloud for ever”"),
        ("It stays on disk.", "Bananas are yellow fruit.", "no passage carries its words"),
    ],
)
def test_a_number_date_name_or_quotation_that_differs_is_contradicted(source: str, claim: str, why: str) -> None:
    question = "왜?" if (why[0] == "“" and "근거" in why) or "자리" in why else "why?"
    verdict, reason = judged(source, claim, question)
    assert (verdict, why in str(reason)) == ("contradiction", True), reason


@pytest.mark.parametrize(
    ("source", "claim", "why"),
    [
        ("The landing was on 3 May.", "The landing took 7 days.", "“7” is in none of its passages"),
        ("The pump draws water from the lake.", "Water comes out of the lake by a pump.", "nearly word for word"),
        ("보증금은 3억 원이다.", "The deposit is 300 million won.", "another language"),
        ("Backups run at 02:30.", "백업은 3시 30분에 돈다.", "another language"),
    ],
)
def test_what_the_rules_cannot_tell_is_not_checked_and_says_why(source: str, claim: str, why: str) -> None:
    verdict, reason = judged(source, claim, "why?")
    assert (verdict, why in str(reason)) == ("unknown", True), reason


def test_what_the_question_states_needs_no_source() -> None:
    source = "The gateway retries a failed upload five times."
    assert judged(source, "In 2031 the gateway retries a failed upload.").verdict == "unknown"
    reason = judged(source, "In 2031 the gateway retries a failed upload.", "What will happen in 2031?").reason
    assert "2031" not in str(reason)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1억 2천만 원", [("120000000", "won")]),
        ("2.4 million euros", [("2400000", "euro")]),
        ("하루 세 번, 네 시간", [("3", "time"), ("4", "hour")]),
        ("twenty minutes", [("20", "minute")]),
        ("2025-01-18", [("2025", "calendar-year"), ("1", "month-of-year"), ("18", "day-of-month")]),
        ("at 7 p.m.", [("420", "clock")]),
        ("저녁 7시", [("420", "clock")]),
        ("Jun may march", []),
        ("두 컵 반, 2년 반", [("2.5", ""), ("2.5", "year")]),
        ("two and a half years", [("2.5", "")]),
        ("two hundred and forty degrees, one or two", [("240", "degree"), ("1", ""), ("2", "")]),
        ("two million three hundred thousand people", [("2300000", "person")]),
        ("만 오천 원이다, 이백사십만 원", [("15000", "won"), ("2400000", "won")]),
        ("오도윤은", []),
    ],
)
def test_quantities_are_read_alike_in_both_languages(text: str, values: list[tuple[str, str]]) -> None:
    assert [(each.value, each.unit) for each in quantities(text)] == values


def test_false_sentences_are_not_supported_and_true_ones_not_dropped() -> None:
    found = [(pair, verdict_on(pair)) for pair in pairs() if pair.split == "dev"]
    assert len(found) >= 700
    assert figures(found) == (0.0, 0.0)
    copied = [verdict for pair, verdict in found if pair.kind == "entailed"]
    assert copied.count("support") > 0.6 * len(copied)


def test_what_is_too_long_for_a_sentence_is_not_checked() -> None:
    text = "The pump draws water from the lake " * 200
    verdict, reason = judged(text, text)
    assert (verdict, "too long" in str(reason)) == ("unknown", True)


@pytest.mark.slow
def test_a_passage_without_an_end_is_compared_in_a_bounded_time() -> None:
    text = "padding " * 20_000
    with bounded_work():
        assert judged(text, "The padding is long.").verdict == "unknown"
