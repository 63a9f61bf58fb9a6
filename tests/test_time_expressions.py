"""The days that questions speak of."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.language.dates import time_span

SUNDAY = date(2026, 11, 22)
EVER, NEVER = "9999-12-31", "0001-01-01"


@pytest.mark.parametrize(
    ("text", "phrase", "first", "last", "rest"),
    [
        ("지난주 회의에서 뭐 정했지", "지난주", "2026-11-09", "2026-11-15", "회의에서 뭐 정했지"),
        ("저번 주에 읽은 책", "저번 주에", "2026-11-09", "2026-11-15", "읽은 책"),
        ("지난주 금요일에 누구 만났어", "지난주 금요일에", "2026-11-13", "2026-11-13", "누구 만났어"),
        ("지난 금요일 점심", "지난 금요일", "2026-11-20", "2026-11-20", "점심"),
        ("지난 일요일 점심", "지난 일요일", "2026-11-15", "2026-11-15", "점심"),
        ("다음 월요일 일정", "다음 월요일", "2026-11-23", "2026-11-23", "일정"),
        ("이번 달 지출", "이번 달", "2026-11-01", "2026-11-30", "지출"),
        ("지지난달 지출", "지지난달", "2026-09-01", "2026-09-30", "지출"),
        ("어제는 뭐 먹었더라", "어제는", "2026-11-21", "2026-11-21", "뭐 먹었더라"),
        ("2026. 11. 12. 결정", "2026. 11. 12.", "2026-11-12", "2026-11-12", "결정"),
        ("2026.11.12에 뭐 했어", "2026.11.12에", "2026-11-12", "2026-11-12", "뭐 했어"),
        ("11월 12일 회의", "11월 12일", "2026-11-12", "2026-11-12", "회의"),
        ("12월 24일 회의", "12월 24일", "2025-12-24", "2025-12-24", "회의"),
        ("2024년 2월 29일 회의", "2024년 2월 29일", "2024-02-29", "2024-02-29", "회의"),
        ("작년 3월 여행", "작년 3월", "2025-03-01", "2025-03-31", "여행"),
        ("2025년에 산 것", "2025년에", "2025-01-01", "2025-12-31", "산 것"),
        ("3일 전에 쓴 글", "3일 전에", "2026-11-19", "2026-11-19", "쓴 글"),
        ("이틀 전 일기", "이틀 전", "2026-11-20", "2026-11-20", "일기"),
        ("일주일 전 일기", "일주일 전", "2026-11-09", "2026-11-15", "일기"),
        ("두 달 전 계약", "두 달 전", "2026-09-01", "2026-09-30", "계약"),
        ("최근 3일간 한 일", "최근 3일간", "2026-11-19", "2026-11-22", "한 일"),
        ("11월 12일 이후 결정", "11월 12일 이후", "2026-11-12", EVER, "결정"),
        ("11월 12일까지 한 일", "11월 12일까지", NEVER, "2026-11-12", "한 일"),
        ("what did we decide last week?", "last week", "2026-11-09", "2026-11-15", "what did we decide ?"),
        ("yesterday's standup", "yesterday", "2026-11-21", "2026-11-21", "standup"),
        ("the day before yesterday at lunch", "day before yesterday", "2026-11-20", "2026-11-20", "at lunch"),
        ("what happened on November 12", "November 12", "2026-11-12", "2026-11-12", "what happened"),
        ("12 November 2025 meeting", "12 November 2025", "2025-11-12", "2025-11-12", "meeting"),
        ("notes from March", "March", "2026-03-01", "2026-03-31", "notes"),
        ("books of Dec 2024", "Dec 2024", "2024-12-01", "2024-12-31", "books"),
        ("in May we met", "May", "2026-05-01", "2026-05-31", "we met"),
        ("last Friday lunch", "last Friday", "2026-11-20", "2026-11-20", "lunch"),
        ("two weeks ago plan", "two weeks ago", "2026-11-02", "2026-11-08", "plan"),
        ("done in the last two weeks", "last two weeks", "2026-11-08", "2026-11-22", "done"),
        ("what changed since 2025", "since 2025", "2025-01-01", EVER, "what changed"),
        ("meetings before 2026-03-01", "before 2026-03-01", NEVER, "2026-03-01", "meetings"),
        ("2026-11 spending", "2026-11", "2026-11-01", "2026-11-30", "spending"),
    ],
)
def test_a_question_speaks_of_days(text: str, phrase: str, first: str, last: str, rest: str) -> None:
    span = time_span(text, SUNDAY)
    assert span is not None
    assert (span.phrase, span.first.isoformat(), span.last.isoformat(), span.rest) == (phrase, first, last, rest)
    assert not span.is_whole


@pytest.mark.parametrize(
    "text",
    [
        "오늘날 교육은", "지난 회의에서", "월요일 회의", "2월 30일 회의", "결제 3일 전까지 취소", "",
        "you may not use march", "the last month of the year", "meet on Monday", "port 2026", "3.12.1 release",
    ],
)  # fmt: skip
def test_what_names_no_days_by_itself_is_left_alone(text: str) -> None:
    assert time_span(text, SUNDAY) is None


@pytest.mark.parametrize("text", ["어제", "last week", "2026-11-12?"])
def test_a_question_of_nothing_but_days_stays_whole(text: str) -> None:
    span = time_span(text, SUNDAY)
    assert span is not None
    assert (span.rest, span.is_whole) == (text, True)


@pytest.mark.parametrize("day", [date.min, date.max, date(2024, 2, 29), date(2026, 3, 31)])
@pytest.mark.parametrize(
    "text", ["900년 전", "999 weeks ago", "작년 2월 29일", "last two months", "지난달", "다음 달", "내일", "내년 12월"]
)
def test_days_at_the_ends_of_the_calendar_break_nothing(text: str, day: date) -> None:
    span = time_span(text, day)
    if span is not None:
        assert span.first <= span.last


@given(st.text(alphabet="0123456789년월일전지난주달 last week-./ago이번", max_size=40), st.dates())
def test_any_text_is_read(text: str, day: date) -> None:
    span = time_span(text, day)
    if span is not None:
        assert span.first <= span.last
        assert span.rest
