"""Parses the days in a question: 어제, 지난주 금요일, 11월 12일, last week, in March, 3 days ago, 2026-11-12.

Only unambiguous days are parsed: `지난 회의` and `on Monday` depend on context. A month or day without a year is the
last one that has begun. Weeks begin on Monday.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import cache
from typing import NamedTuple

from kb.language.lists import rows, words

_SIGNS = "time_signs"
_CENTURIES = ("19", "20")


def may_name_days(text: str) -> bool:
    """A quick check: False where nothing in the text, as in most questions, can name a day, week, month or year."""
    if any(sign in text for sign in rows(_SIGNS)["korean"]):
        return True
    written = (word.removesuffix("'s").strip(".,;:?!()\"'") for word in text.lower().split())
    return any(word in words(_SIGNS, "english") or word.startswith(_CENTURIES) for word in written)


class DaySpan(NamedTuple):
    """The first and last day named in a text; `phrase` is their wording, `rest` the text without it.

    `is_whole`: the text names nothing else, and `rest` is the whole text. `is_relative`: they are counted from today.
    """

    phrase: str
    first: date
    last: date
    rest: str
    is_whole: bool
    is_relative: bool = False


_Days = tuple[date, date]
_Rule = tuple[re.Pattern[str], Callable[[re.Match[str], date], _Days | None]]

_LISTS = rows("time_words")


def _counted(*kinds: str) -> dict[str, int]:
    """The words of some kinds, each with its number."""
    listed = (row.rsplit(" ", 1) for kind in kinds for row in _LISTS[kind])
    return {word: int(number) for word, number in listed}


def _any_of(kind: str) -> str:
    """A pattern for the words of a kind, with any spacing between their parts."""
    return "|".join(_counted(kind)).replace(" ", r"\s+")


_MONTHS = rows("calendar")["month"][0].split()
_SHORT_MONTHS = [name[:3] for name in _MONTHS]
_WEEKDAYS = rows("calendar")["weekday"][0].split()
_KOREAN_WEEKDAYS = "".join(rows("calendar")["weekday_korean"][0].split())
_NUMBERS = _counted("number", "number_korean", "days")
_YEARS_OFF = _counted("year_korean")
_OFF = _counted("which", "which_korean")
_DAYS_OFF = _counted("day", "day_korean")

_LEAD = r"(?i)^(?:(?:in|on|from|of|during|for|the)\s+)+"

# Suffixes of Korean words of time, after which the word must end.
_PARTICLE = r"(?:(?:에는|에서|에도|에|의|은|는|도|엔|자)?(?!\w))"
_OPEN = r"(?P<open>\s?(?:이전에?|까지|이후에?|부터)(?!\w))"
_KOREAN_END = rf"(?:{_OPEN}|{_PARTICLE})"
_COUNT = rf"(?P<count>\d{{1,3}}|{_any_of('number')})"
_BEFORE = r"(?<!\w)(?:(?P<side>since|after|before|until|by)\s+)?(?:(?:in|on|from|of|during|for)\s+)?(?:the\s+)?"
_MONTH = rf"(?P<month>{'|'.join([*_MONTHS, *_SHORT_MONTHS, 'sept'])})\.?"
_YEAR = r"(?P<year>(?:19|20)\d{2})"
# The groups of the patterns for days counted from today: `내일`, `last week`, `작년`, `3일 전`.
_COUNTED_FROM_TODAY = ("name", "which", "count", "days")


def time_span(text: str, today: date) -> DaySpan | None:
    """The first days that a text names, by the longest match; None without any."""
    if not may_name_days(text):
        return None
    found = [
        (match.start(), -match.end(), match, days)
        for pattern, days_of in _rules()
        for match in pattern.finditer(text)
        if (days := _checked(days_of, match, today)) is not None
    ]
    if not found:
        return None
    _, _, match, days = min(found, key=lambda each: each[:2])
    first, last = _opened(match, days)
    rest = _without(text, match)
    named = match.groupdict()
    phrase = re.sub(_LEAD, "", match[0].strip()).removesuffix("'s")
    return DaySpan(phrase, first, last, rest or text, not rest, any(named.get(group) for group in _COUNTED_FROM_TODAY))


def _checked(days_of: Callable[[re.Match[str], date], _Days | None], match: re.Match[str], today: date) -> _Days | None:
    """The days of a match; None where they do not exist (2월 30일, the year 0)."""
    try:
        return days_of(match, today)
    except (ValueError, OverflowError):
        return None


def _opened(match: re.Match[str], days: _Days) -> _Days:
    """The days, extended to all before or after them where the text says since, until, 부터, 까지."""
    named = match.groupdict()
    side = (named.get("side") or named.get("open") or "").strip().lower()
    if side in ("since", "after") or side.startswith(("이후", "부터")):
        return days[0], date.max
    if side in ("before", "until", "by") or side.startswith(("이전", "까지")):
        return date.min, days[1]
    return days


def _without(text: str, match: re.Match[str]) -> str:
    """The text without the words for the days; empty where it has no other words."""
    rest = " ".join(f"{text[: match.start()]} {text[match.end() :]}".split())
    return rest if re.search(r"\w", rest) else ""


def _day(match: re.Match[str], today: date) -> _Days:
    day = date(int(match["year"]), int(match["month"]), int(match["day"]))
    return day, day


def _days_of(year: int, month: int) -> int:
    return (date(year + month // 12, month % 12 + 1, 1) - timedelta(1)).day


def _month(year: int, month: int) -> _Days:
    return date(year, month, 1), date(year, month, _days_of(year, month))


def _year(year: int) -> _Days:
    return date(year, 1, 1), date(year, 12, 31)


def _week(of: date) -> _Days:
    monday = of - timedelta(of.weekday())
    return monday, monday + timedelta(6)


def _months_off(today: date, off: int) -> _Days:
    year, month = divmod(today.year * 12 + today.month - 1 + off, 12)
    return _month(year, month + 1)


def _begun(month: int, day: int, today: date) -> date:
    """The day of a month in the last year in which it has begun."""
    found = date(today.year, month, day)
    return found if found <= today else date(today.year - 1, month, day)


def _named_day(match: re.Match[str], today: date) -> _Days:
    day = today + timedelta(_DAYS_OFF[" ".join(match["name"].lower().split())])
    return day, day


def _month_number(name: str) -> int:
    return _SHORT_MONTHS.index(name.lower()[:3]) + 1


def _named_month(match: re.Match[str], today: date) -> _Days:
    """`March 2026`, `in March`, `last March`, with a day or without."""
    named = match.groupdict()
    month = _month_number(named["month"])
    if named.get("day"):
        day = int(named["day"])
        found = date(int(named["year"]), month, day) if named.get("year") else _begun(month, day, today)
        return found, found
    return _month(int(named["year"]) if named.get("year") else _begun(month, 1, today).year, month)


def _korean_date(match: re.Match[str], today: date) -> _Days:
    """`2026년 11월 12일`, `작년 11월`, `11월 12일`, `11월`, `2025년`."""
    named = match.groupdict()
    year = int(named["year"]) if named["year"] else None
    if named["which"]:
        year = today.year + _YEARS_OFF[named["which"]]
    if not named["month"]:
        return _year(year if year is not None else today.year)
    month = int(named["month"])
    if not named["day"]:
        return _month(year if year is not None else _begun(month, 1, today).year, month)
    day = date(year, month, int(named["day"])) if year is not None else _begun(month, int(named["day"]), today)
    return day, day


def _unit_off(match: re.Match[str], today: date) -> _Days:
    """`지난주`, `this month`, `next year`: a whole week, month or year."""
    off = _OFF["".join(match["which"].lower().split())]
    unit = match["unit"].lower()
    if unit in ("주", "week"):
        first, last = _week(today + timedelta(7 * off))
        weekday = match.groupdict().get("weekday")
        if weekday:
            first = last = first + timedelta(_KOREAN_WEEKDAYS.index(weekday))
        return first, last
    return _months_off(today, off) if unit in ("달", "month") else _year(today.year + off)


def _weekday(match: re.Match[str], today: date) -> _Days:
    """`지난 금요일`, `last Friday`: the last one before today, the next one after it, this week's."""
    which = _OFF[match["which"].lower()]
    name = match["weekday"].lower()
    at = _WEEKDAYS.index(name) if name in _WEEKDAYS else _KOREAN_WEEKDAYS.index(name)
    if which == 0:
        day = _week(today)[0] + timedelta(at)
    elif which < 0:
        day = today - timedelta((today.weekday() - at - 1) % 7 + 1)
    else:
        day = today + timedelta((at - today.weekday() - 1) % 7 + 1)
    return day, day


def _number(written: str) -> int:
    return int(written) if written.isdigit() else _NUMBERS[written.lower()]


def _ago(match: re.Match[str], today: date) -> _Days:
    """`3일 전`, `two weeks ago`: that day, that week, that month, that year."""
    named = match.groupdict()
    count = _number(named["count"] or named.get("days") or "")
    unit = (named.get("unit") or "일").lower()
    if unit.startswith(("주", "week")):
        return _week(today - timedelta(7 * count))
    if unit.startswith(("달", "개월", "month")):
        return _months_off(today, -count)
    if unit.startswith(("년", "해", "year")):
        return _year(today.year - count)
    day = today - timedelta(count)
    return day, day


def _up_to_today(match: re.Match[str], today: date) -> _Days:
    """`지난 3일`, `last two weeks`: that number of days, weeks, months or years up to today."""
    count, unit = _number(match["count"]), match["unit"].lower()
    if unit.startswith(("달", "개월", "month")):
        first = _months_off(today, -count)[0]
        return first.replace(day=min(today.day, _days_of(first.year, first.month))), today
    days = 7 if unit.startswith(("주", "week")) else 365 if unit.startswith(("년", "year")) else 1
    return today - timedelta(days * count), today


@cache
def _rules() -> tuple[_Rule, ...]:
    return tuple(_written_rules())


def _written_rules() -> Iterator[_Rule]:
    def rule(pattern: str, days_of: Callable[[re.Match[str], date], _Days | None]) -> _Rule:
        return re.compile(pattern, re.IGNORECASE), days_of

    digits = rf"{_YEAR}(?P<mark>[-/]|\.\s?)(?P<month>\d{{1,2}})"
    yield rule(rf"{_BEFORE}{digits}(?P=mark)(?P<day>\d{{1,2}})\.?(?!\d){_KOREAN_END}?", _day)
    yield rule(
        rf"{_BEFORE}(?P<year>(?:19|20)\d{{2}})-(?P<month>\d{{2}})(?![-\d]){_KOREAN_END}?",
        lambda match, _: _month(int(match["year"]), int(match["month"])),
    )
    yield rule(rf"(?<!\w)(?P<name>{_any_of('day_korean')}){_KOREAN_END}", _named_day)
    yield rule(rf"{_BEFORE}(?P<name>{_any_of('day')})(?:'s)?(?!\w)", _named_day)
    yield rule(
        rf"(?<!\w)(?P<which>{_any_of('which_korean')})\s?(?P<unit>주|달)"
        rf"(?:\s(?P<weekday>[{_KOREAN_WEEKDAYS}])요일)?{_KOREAN_END}",
        _unit_off,
    )
    yield rule(rf"{_BEFORE}(?P<which>{_any_of('which')})\s+(?P<unit>week|month|year)(?:'s)?(?!\w|\s+of\b)", _unit_off)
    yield rule(rf"(?<!\w)(?P<which>이번|지난|저번|다음)\s?(?P<weekday>[{_KOREAN_WEEKDAYS}])요일{_KOREAN_END}", _weekday)
    yield rule(
        rf"{_BEFORE}(?P<which>{_any_of('which')})\s+(?P<weekday>{'|'.join(_WEEKDAYS)})(?:'s)?(?!\w)",
        _weekday,
    )
    yield rule(
        rf"(?<!\w)(?:(?P<year>(?:19|20)\d{{2}})\s?년(?:도)?|(?P<which>{_any_of('year_korean')})(?:도)?)"
        rf"(?:\s?(?P<month>\d{{1,2}})월(?:\s?(?P<day>\d{{1,2}})일)?)?{_KOREAN_END}",
        _korean_date,
    )
    yield rule(
        rf"(?<!\w)(?P<year>)(?P<which>)(?P<month>\d{{1,2}})월(?:\s?(?P<day>\d{{1,2}})일)?{_KOREAN_END}", _korean_date
    )
    yield rule(rf"{_BEFORE}{_MONTH}\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+{_YEAR})?(?!\w)", _named_month)
    yield rule(
        rf"{_BEFORE}(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}(?:,?\s+{_YEAR})?(?!\w)", _named_month
    )
    yield rule(rf"{_BEFORE}{_MONTH},?\s+(?:of\s+)?{_YEAR}(?!\w)", _named_month)
    # Without a year, a month needs a word before it, and "May" a capital: "last March", "in May", not "you may".
    yield rule(
        rf"(?<!\w)(?:(?P<side>since|after|before|until|by)|in|from|during|last|of)\s+(?!(?-i:may\b)){_MONTH}(?!\w)",
        _named_month,
    )
    yield rule(
        rf"(?<!\w)(?:(?P<side>since|after|before|until|by)|in|from|during|of)\s+{_YEAR}(?!\w)",
        lambda match, _: _year(int(match["year"])),
    )
    yield rule(
        rf"(?<!\w)(?:(?P<count>\d{{1,3}}|{_any_of('number_korean')})\s?(?P<unit>일|주일?|달|개월|년|해)"
        rf"|(?P<days>{_any_of('days')}))\s?전{_PARTICLE}",
        _ago,
    )
    yield rule(rf"{_BEFORE}{_COUNT}\s+(?P<unit>days?|weeks?|months?|years?)\s+ago(?!\w)", _ago)
    yield rule(
        rf"(?<!\w)(?:최근|지난)\s?(?P<count>\d{{1,3}}|한|두|세|네)\s?(?P<unit>일|주일?|달|개월|년)(?:간|\s?동안)?{_PARTICLE}",
        _up_to_today,
    )
    yield rule(rf"{_BEFORE}(?:last|past)\s+{_COUNT}\s+(?P<unit>days?|weeks?|months?|years?)(?!\w)", _up_to_today)
