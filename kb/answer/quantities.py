"""The numbers and dates of a text, in either language, as values with units: 3억 원 is 300 million won."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from kb.language.lists import rows


class Quantity(NamedTuple):
    """A number or date in one normal form, at `start`..`end` of the text, and its unit, "" if none is named."""

    value: str
    unit: str
    start: int
    end: int
    text: str

    def agrees(self, other: Quantity) -> bool:
        """Whether two quantities are the same: equal values, of one unit or one of them without a unit."""
        return self.value == other.value and ("" in (self.unit, other.unit) or self.has_unit_of(other))

    def has_unit_of(self, other: Quantity) -> bool:
        """Whether two quantities may count the same thing, judged by their units: 2번 may mean twice, or number two."""
        return self.unit == other.unit or {self.unit, other.unit} == {"time", "label"}


_LISTS = rows("quantities")


def _numbered(kind: str) -> dict[str, int]:
    """The number that each word of a kind stands for."""
    return {word: int(number) for word, number in map(str.split, _LISTS[kind])}


_CALENDAR = rows("calendar")
_MONTHS = _CALENDAR["month"][0].split()
# A month is abbreviated only beside a day or a full stop: Jun is a name too.
_SHORT = "|".join(name[:3] for name in _MONTHS) + "|sept"
_MONTH = "|".join(_MONTHS) + rf"|(?:(?<=\d )|(?<=\dth ))(?:{_SHORT})|(?:{_SHORT})(?=\.? \d|\.)"
_WEEKDAYS = _CALENDAR["weekday"][0].split()
_KOREAN_WEEKDAYS = _CALENDAR["weekday_korean"][0].split()
_SEASONS = dict(map(str.split, _CALENDAR["season"]))
_ENGLISH_NUMBERS = _numbered("number")
_ORDINALS = _numbered("ordinal")
_SCALES = _numbered("scale")
_NATIVE = _numbered("native")
_DIGITS = {char: at for at, char in enumerate("일이삼사오육칠팔구", 1)}
_TENS = {"십": 10, "백": 100, "천": 1000}
_LARGE = {"만": 10**4, "억": 10**8, "조": 10**12}
_SINO = "".join((*_DIGITS, *_TENS))

# A unit is named by its English word, however it is written.
_UNITS = {
    spelling: kind.removeprefix("unit ")
    for kind, spellings in _LISTS.items()
    if kind.startswith("unit ")
    for spelling in spellings[0].split()
}
_COUNTED = _LISTS["counted"][0]
_KOREAN_UNIT = _LISTS["unit_before"][0]
# Units that are one sign, such as %; a sign of money is before its number.
_MONEY = "$€₩"
_SIGNS = "".join(each for each in _UNITS if len(each) == 1 and not each.isalnum() and each not in _MONEY)
_UNIT = rf"(?:{_KOREAN_UNIT}|[가-힣{re.escape(_SIGNS)}]|[A-Za-z]+)"
_NUMBER = r"\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)*"
_LABELLED = re.compile(r"(?:\b[A-Z]\w*|\b(?i:version|release|port|page|chapter|no\.?|number)|버전|판)\s*$")


def quantities(text: str) -> list[Quantity]:
    """The quantities of a text in order, a date in its parts. Where matches overlap, the more specific one."""
    found: list[Quantity] = []
    taken = [False] * (len(text) + 1)
    for pattern, read in _READERS:
        for match in pattern.finditer(text):
            if not any(taken[match.start() : match.end()]):
                quantity = list(read(match))
                if quantity and _AND_HALF.match(text, match.end()) is not None and read in _HALVED:
                    quantity = [(_shortest(float(quantity[0][0]) + 0.5), quantity[0][1])]
                if quantity:
                    taken[match.start() : match.end()] = [True] * (match.end() - match.start())
                found += [Quantity(value, unit, match.start(), match.end(), match[0]) for value, unit in quantity]
    return sorted(found, key=lambda each: each.start)


Read = Callable[[re.Match[str]], Iterator[tuple[str, str]]]
# "two and a half", 두 컵 반, 2년 반.
_AND_HALF = re.compile(r" and a half\b|(?: ?[가-힣]{1,2})?(?<=[가-힣]) 반(?=[은을이가의도만 .,]|$)")


def _iso(match: re.Match[str]) -> Iterator[tuple[str, str]]:
    for part, unit in zip(match.groups(), ("calendar-year", "month-of-year", "day-of-month"), strict=True):
        yield _plain(part), unit


def _clock(match: re.Match[str]) -> Iterator[tuple[str, str]]:
    hour, minute = int(match["hour"]), int(match["minute"] or 0)
    yield str((hour * 60 + minute) % 720), "clock"


def _korean_clock(match: re.Match[str]) -> Iterator[tuple[str, str]]:
    said = match["hour"]
    hour = int(said) if said.isdigit() else _NATIVE[said]
    minute = 30 if match["half"] else int(match["minute"] or 0)
    yield str((hour * 60 + minute) % 720), "clock"


def _month_day(match: re.Match[str]) -> Iterator[tuple[str, str]]:
    named = match["month"].lower()[:3]
    yield str(next(at for at, month in enumerate(_MONTHS, 1) if month.startswith(named))), "month-of-year"
    day = match["before"] or match["after"]
    if day:
        yield _plain(day), "day-of-month"


def _korean_date(match: re.Match[str]) -> Iterator[tuple[str, str]]:
    for part, unit in (("year", "calendar-year"), ("month", "month-of-year"), ("day", "day-of-month")):
        if match[part]:
            yield _plain(match[part]), unit


def _weekday(match: re.Match[str]) -> Iterator[tuple[str, str]]:
    said = match[0].lower()
    yield (
        str(
            next(
                at
                for at, (en, ko) in enumerate(zip(_WEEKDAYS, _KOREAN_WEEKDAYS, strict=True))
                if said.startswith((en, ko))
            )
        ),
        "weekday",
    )


def _season(match: re.Match[str]) -> Iterator[tuple[str, str]]:
    yield next(en for en, ko in _SEASONS.items() if match[0].lower() in (en, ko)), "season"


def _large_korean(match: re.Match[str]) -> Iterator[tuple[str, str]]:
    total = 0.0
    for number, scales in re.findall(r"(\d[\d,.]*)\s*([천백십]?[조억만]|[천백])?", match["number"]):
        value = float(number.replace(",", "").rstrip("."))
        for scale in scales:
            value *= _TENS.get(scale) or _LARGE[scale]
        total += value
    yield _shortest(total), _UNITS.get(match["unit"] or "", "")


def _native(match: re.Match[str]) -> Iterator[tuple[str, str]]:
    yield str(_NATIVE[match["number"]]), _UNITS.get(match["unit"], "")


def _sino(match: re.Match[str]) -> Iterator[tuple[str, str]]:
    total = part = digit = 0
    for char in match["number"]:
        if char in _DIGITS:
            digit = _DIGITS[char]
        elif char in _TENS:
            part += (digit or 1) * _TENS[char]
            digit = 0
        elif char in _LARGE:
            total += (part + digit or 1) * _LARGE[char]
            part = digit = 0
    yield str(total + part + digit), _UNITS.get(match["unit"], "")


def _english_word(match: re.Match[str]) -> Iterator[tuple[str, str]]:
    total = part = 0
    for word in re.findall(r"[a-z]+", match["number"].lower()):
        if word == "hundred":
            part = (part or 1) * 100
        elif word in _SCALES:
            total += (part or 1) * _SCALES[word]
            part = 0
        else:
            part += _ENGLISH_NUMBERS.get(word, 0)
    yield _shortest(total + part), _UNITS.get((match["unit"] or "").lower(), "")


def _ordinal(match: re.Match[str]) -> Iterator[tuple[str, str]]:
    value = _ORDINALS.get(match[1].lower()) if match[1] else int(match[2])
    unit = "floor" if match[3] else "ordinal"
    yield str(value), unit


def _digits(match: re.Match[str]) -> Iterator[tuple[str, str]]:
    number, scale, unit = match["number"], (match["scale"] or "").lower(), (match["unit"] or "").lower()
    if number.count(".") > 1:
        yield number, "label"
        return
    value = _shortest(float(number.replace(",", "")) * _SCALES.get(scale, 1))
    if unit[:2] == "번째":
        unit = "번째"
    known = _UNITS.get(match["sign"] or "") or _UNITS.get(unit) or _UNITS.get(unit[:1] if unit[:1] > "~" else "")
    if known is None and not scale and re.fullmatch(r"1[5-9]\d\d|20\d\d", number):
        known = "calendar-year"
    if known is None and _LABELLED.search(match.string, 0, match.start()):
        known = "label"
    yield value, known or ""


def _plain(number: str) -> str:
    return str(int(number))


def _shortest(value: float) -> str:
    return f"{value:.6f}".rstrip("0").rstrip(".")


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


_HALVED: tuple[Read, ...] = (_native, _english_word, _digits)
_WORDS = "|".join(sorted(_ENGLISH_NUMBERS, key=len, reverse=True))
_ONES = "|".join(word for word, value in _ENGLISH_NUMBERS.items() if 0 < value < 10)
_ROUND = "|".join(word for word, value in _ENGLISH_NUMBERS.items() if value >= 20)
_TENS_AND_ONES = rf"(?:(?:{_ROUND})[- ](?:{_ONES})|(?:{_WORDS}))"
_BELOW_THOUSAND = rf"{_TENS_AND_ONES}(?: hundred(?:(?: and)? {_TENS_AND_ONES})?)?"
_READERS: tuple[tuple[re.Pattern[str], Read], ...] = (
    (_pattern(r"\b(\d{4})-(\d{2})-(\d{2})(?!\d)"), _iso),
    (_pattern(r"\b(?P<hour>\d{1,2}):(?P<minute>\d{2})(?!\d)"), _clock),
    (_pattern(r"\b(?P<hour>\d{1,2})(?P<minute>)\s*(?:[ap]\.?m\b\.?|o['’]clock)"), _clock),
    (
        _pattern(
            rf"(?<![가-힣\d])(?P<hour>\d{{1,2}}|{'|'.join(_NATIVE)})\s?시(?!간|[가-힣]?작|리|험)\s*(?:(?P<minute>\d{{1,2}})분|(?P<half>반))?"
        ),
        _korean_clock,
    ),
    (
        re.compile(
            rf"\b(?:(?P<before>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?)?(?P<month>(?i:{_MONTH})\b)(?<!\bmay)(?<!\bmarch)\.?"
            r"(?: (?P<after>\d{1,2})(?:st|nd|rd|th)?\b(?!:))?"
        ),
        _month_day,
    ),
    (_pattern(r"(?:(?P<year>\d{4})년\s*)?(?P<month>\d{1,2})월(?:\s*(?P<day>\d{1,2})일)?"), _korean_date),
    (_pattern(r"(?P<year>\d{4})년(?P<month>)(?P<day>)"), _korean_date),
    (_pattern(rf"\b(?:{'|'.join(_WEEKDAYS)})s?\b|(?<![가-힣])[{''.join(_KOREAN_WEEKDAYS)}]요일"), _weekday),
    (
        _pattern(rf"\b(?:{'|'.join(_SEASONS)})\b|(?<![가-힣])(?:{'|'.join(_SEASONS.values())})(?=[에은이의철 ]|$)"),
        _season,
    ),
    (
        _pattern(
            rf"(?P<number>\d[\d,.]*\s*(?:[천백십]?[조억만]|[천백])(?:\s*\d[\d,.]*\s*(?:[천백십]?[조억만]|[천백])?)*)"
            rf"(?=\s*(?P<unit>{_KOREAN_UNIT}|원|명|개|자|년|마리)|)"
        ),
        _large_korean,
    ),
    (
        _pattern(
            rf"(?<![가-힣])(?P<number>{'|'.join(sorted(_NATIVE, key=len, reverse=True))})\s?"
            rf"(?P<unit>{_COUNTED})(?![지만])"
        ),
        _native,
    ),
    (
        _pattern(
            rf"(?<![가-힣])(?P<number>[{_SINO}{''.join(_LARGE)}]+(?: [{_SINO}]+)?) ?"
            rf"(?P<unit>{_KOREAN_UNIT}|분|초|원|년|도|층|회|명|개|킬로|리터|쪽|쇄|판)"
            r"(?=(?:이다|입니다|이며|이고|[가-힣])?(?:[ .,]|$))"
        ),
        _sino,
    ),
    (
        _pattern(
            r"\b(?:(first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth)|(\d+)(?:st|nd|rd|th))\b(?!-)"
            r"( floor)?"
        ),
        _ordinal,
    ),
    (
        _pattern(
            rf"\b(?P<number>{_BELOW_THOUSAND}(?: (?:thousand|million|billion)(?: {_BELOW_THOUSAND})?)*)\b"
            r"(?= (?P<unit>[a-z]+)|)"
        ),
        _english_word,
    ),
    (_pattern(r"\b(?:twice|thrice)\b"), lambda match: iter([("2" if match[0].lower() == "twice" else "3", "time")])),
    (
        _pattern(
            rf"(?P<sign>[{_MONEY}])?\s?(?<![\w.])(?P<number>{_NUMBER})(?!\d)(?:\s?(?P<scale>thousand|million|billion|bn|k)\b)?"
            rf"(?=\s?(?P<unit>{_UNIT})|)"
        ),
        _digits,
    ),
)
