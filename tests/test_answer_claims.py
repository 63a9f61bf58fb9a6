"""A sentence that says the reverse, exchanges names or counts otherwise is not supported; a right one is kept."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from conftest import bounded_work

from benchmarks.claims import figures, pairs, verdict_on
from kb.answer.claims.names import sounds_in
from kb.answer.claims.quantities import quantities
from kb.answer.claims.rules import RuleJudge
from kb.answer.claims.support import Meaning
from kb.answer.claims.terms import terms
from kb.domain.answers.claims import ClaimJudge, Judged, because
from kb.language.detect import query_language
from tests.answer_passages import passage


def across(text: str, others: Sequence[str]) -> list[float]:
    """Takes all that is in another language for the same, and nothing that is in one."""
    return [float(query_language(text) != query_language(other)) for other in others]


JUDGE = RuleJudge(Meaning(across, same_sentence=0.5))


def judged(source: str, claim: str) -> Judged:
    lang = "en" if source.isascii() else "ko"
    return JUDGE.judge(claim, "", [passage(1, source, lang=lang)])


TEAM = "Mina maintains the parser, Jun maintains the index. Both report to Carla Weiss, who joined in March 2019."
SERVERS = "김민수가 결제 서버를 맡고 이영희가 검색 서버를 맡는다. 배포는 매주 화요일에 한다."


@pytest.mark.parametrize(
    ("source", "claim"),
    [
        ("The gateway retries a failed upload five times.", "The gateway does not retry a failed upload."),
        ("The gateway does not delete anything by itself.", "The gateway deletes everything by itself."),
        ("표와 코드 블록은 자르지 않는다.", "표와 코드 블록도 자른다."),
        ("우유와 같이 먹으면 안 된다.", "우유와 같이 먹어도 된다."),
        ("The committee accepted Ivana's plan.", "The committee rejected Ivana's plan."),
        ("펌프는 자동으로 켜진다.", "펌프는 자동으로 꺼진다."),
        (TEAM, "Jun maintains the parser."),
        (SERVERS, "이영희가 결제 서버를 맡는다."),
        (SERVERS, "박지훈이 검색 서버를 맡는다."),
        ("Sourdough needs 18 hours, rye bread only 6.", "Sourdough needs 6 hours."),
        ("보증금은 3억 원이고 관리비는 18만 원이다.", "보증금은 18만 원이다."),
        ("수민이는 지호에게 자전거를 빌려주었다.", "지호가 수민이에게 자전거를 빌려주었다."),
        ("Rosa beat Ingrid in the final.", "Ingrid beat Rosa in the final."),
        ("Lena sold her violin to Marco.", "Lena bought the violin from Marco."),
        ("출시를 4월 2일에서 4월 16일로 미룬다.", "출시를 4월 16일에서 4월 2일로 미룬다."),
        ("설탕 세 컵에 밀가루 네 컵 반을 섞는다.", "설탕 세 컵에 밀가루 세 컵을 섞는다."),
        ("Olga drew the plan; Pavel rewrote it in 2020.", "Olga rewrote the plan in 2020."),
        ("조장은 한서윤이고 부조장은 문태오이다.", "조장은 문태오이다."),
        ("큰언니가 작은언니에게 열쇠를 맡겼다.", "작은언니가 큰언니에게 열쇠를 맡겼다."),
        ("백제가 신라 사신을 붙잡았다.", "신라가 백제 사신을 붙잡았다."),
        ("이성계는 이방원의 아버지였다.", "이방원은 이성계의 아버지였다."),
        ("Lea is shorter than Tom.", "Tom is shorter than Lea."),
        ("The new kiln is lighter than the stove.", "The stove is lighter than the new kiln."),
        ("이삿짐은 계약하고 나서 옮긴다.", "이삿짐은 계약하기 전에 옮긴다."),
        ("The feature is supported since 2.1.", "The feature is unsupported since 2.1."),
    ],
)
def test_a_flat_falsehood_about_a_passage_is_contradicted_with_a_reason(source: str, claim: str) -> None:
    verdict, reason = judged(source, claim)
    assert verdict == "contradiction"
    assert reason


@pytest.mark.parametrize(
    ("source", "claim"),
    [
        ("Rosa beat Ingrid in the final.", "Ingrid lost the final to Rosa."),
        ("수민이는 지호에게 자전거를 빌려주었다.", "지호는 수민이에게서 자전거를 빌렸다."),
        ("The new codec was faster than the old codec.", "The old codec was slower than the new codec."),
        ("Dr. Okafor referred Ben to the clinic.", "Ben was referred to the clinic by Dr. Okafor."),
        ("동생은 아직 답장하지 않았다.", "동생은 답장을 아직 안 했다."),
        ("The old pump is louder but uses more oil than the new one.", "The new pump uses less oil than the old one."),
        ("Ola painted the fence.", "The painter of the fence is Ola."),
        ("문지원은 건물주를 대리했다.", "건물주의 대리인은 문지원이다."),
        ("Vera has not signed the lease.", "Vera has yet to sign the lease."),
        ("At most 12 guests may stay.", "No more than 12 guests may stay."),
        ("The grocer sold us plums.", "We bought plums from the grocer."),
        ("Locked drawers are listed but never opened.", "The porter does not open locked drawers."),
        ("3조는 임지후 선생님이 통솔한다.", "3조 통솔자는 임지후 선생님이다."),
        ("우리는 옆집보다 먼저 이사했다.", "옆집은 우리보다 늦게 이사 왔다."),
        ("Two plots are free, 7 and 11.", "Plots 7 and 11 are the two free ones."),
    ],
)
def test_what_is_turned_round_twice_is_not_contradicted(source: str, claim: str) -> None:
    assert judged(source, claim).verdict != "contradiction"


@pytest.mark.parametrize(
    ("source", "claim"),
    [
        ("보증금은 3억 원이다.", "The deposit is 300 million won."),
        ("임대 계약은 2024년 3월 15일에 시작한다.", "The lease starts on March 15, 2024."),
        ("김민수가 결제 서버를 맡는다.", "Minsu Kim is in charge of the payment server."),
        ("관객은 1만 2천 명이었다.", "There were 12,000 people in the audience."),
        ("Backups run at 02:30 every night.", "백업은 매일 밤 2시 30분에 돈다."),
    ],
)
def test_a_right_sentence_in_another_language_keeps_its_numbers_and_names(source: str, claim: str) -> None:
    assert judged(source, claim).verdict == "support"


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


@pytest.mark.parametrize(
    ("latin", "korean"),
    [
        ("Minsu", "김민수가"),
        ("Docker", "도커는"),
        ("Marco", "마르코"),
        ("Seoul", "서울에서"),
        ("Hallasan", "한라산에서"),
        ("Jonas", "요나스는"),
    ],
)
def test_a_name_is_found_in_the_other_script_by_its_consonants(latin: str, korean: str) -> None:
    assert sounds_in(latin, korean)
    assert not sounds_in(latin, "바이올린")


def test_false_sentences_are_not_supported_and_true_ones_not_dropped() -> None:
    found = [
        (pair, verdict_on(pair, JUDGE)) for pair in pairs() if pair.split == "dev" and pair.lang == pair.source_lang
    ]
    supported, dropped = figures(found)
    assert len(found) >= 200
    assert supported <= 0.10
    assert dropped <= 0.05


@pytest.mark.parametrize(
    ("source", "claim"),
    [
        ("Marta founded the club with Ivo. In 1998 she left it.", "Ivo left the club in 1998."),
        ("견학은 평일에만 하고 야간 견학은 하지 않는다.", "야간 견학도 한다."),
        ("Line 2 needs 14 minutes, line 5 takes 30.", "Line 5 is faster than line 2."),
        ("작년에는 통영에 갔는데 거제보다 더 멀었다.", "거제는 통영보다 더 멀었다."),
        ("On the pass the ice was thick, while in the gorge flowers stood.", "In the gorge the ice was thick."),
        ("한여진은 시험에 합격해 판사가 되었고, 오도윤은 떨어졌다.", "오도윤은 판사가 되었다."),
    ],
)
def test_what_a_passage_says_of_another_is_not_supported(source: str, claim: str) -> None:
    assert judged(source, claim).verdict != "support"


@pytest.mark.parametrize("text", ["API는 열려 있다.", "API가 열려 있다."])
def test_a_particle_is_no_part_of_a_latin_word(text: str) -> None:
    assert terms(text)[0].key == "api"


ALIKE = [{"paid", "spent"}, {"eggs", "달걀"}, {"allergic", "알레르기"}, {"milk", "우유"}]


def _cosines(text: str, others: Sequence[str]) -> list[float]:
    """Cosines as an encoder gives them: high for what is alike, for sentences by the words they share."""
    words = set(re.findall(r"\w+", text))
    return [
        1.0
        if text == other or {text, other} in ALIKE
        else sum(
            any(word in other or (pair - {word}).pop() in other for pair in ALIKE if word in pair) for word in words
        )
        / 10
        for other in others
    ]


def test_a_verb_that_says_the_same_is_no_other_one() -> None:
    source = "The council paid 900 euros, the parish nothing."
    claim = "The council spent 900 euros."
    assert JUDGE.judge(claim, "", [passage(1, source)]).verdict == "unknown"
    meaning = Meaning(_cosines, same_sentence=0.6, same_word=0.45)
    assert RuleJudge(meaning).judge(claim, "", [passage(1, source)]).verdict == "support"


def test_a_thing_of_the_neighbouring_clause_is_not_supported_across_languages() -> None:
    source = passage(1, "아이는 우유 알레르기가 있지만 달걀은 먹을 수 있다.", lang="ko")
    judge = RuleJudge(Meaning(_cosines, same_sentence=0.1, same_word=0.45))
    assert judge.judge("The child is allergic to milk.", "", [source]).verdict == "support"
    assert judge.judge("The child is allergic to eggs.", "", [source]).verdict == "unknown"


def test_a_name_of_another_clause_is_not_supported_across_languages() -> None:
    source = passage(1, "Nadia wrote the scheduler and Piotr reviewed it.")
    judge = RuleJudge(Meaning(lambda text, others: [0.5] + [0.0] * (len(others) - 1), same_sentence=0.4))
    assert judge.judge("나디아가 스케줄러를 썼다.", "", [source]).verdict == "support"
    assert judge.judge("피오트르가 스케줄러를 썼다.", "", [source]).verdict == "unknown"


def test_any_judge_will_do() -> None:
    class Doubting:
        def judge(self, claim: str, question: str, cited: object) -> Judged:
            return Judged("unknown", because("few_words", "0%"))

    judge: ClaimJudge = Doubting()
    assert verdict_on(next(pairs()), judge) == "unknown"


def test_what_is_too_long_for_a_sentence_is_not_sure() -> None:
    text = "The pump draws water from the lake " * 200
    judged = RuleJudge().judge(text, "What does the pump draw?", [passage(1, text)])
    assert (judged.verdict, judged.reason) == ("unknown", because("too_long"))


@pytest.mark.slow
def test_the_words_of_a_sentence_without_end_are_read_in_a_bounded_time() -> None:
    text = "padding " * 20_000
    with bounded_work():
        assert len(terms(text)) == 20_000
