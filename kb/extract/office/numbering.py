"""Automatic numbers of Word's lists and headings: `1.`, `(b)`, `제2조`, as the document's levels spell them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple
from xml.etree.ElementTree import Element

from kb.extract.office.package import found

_PLACE = re.compile(r"%([1-9])")
_MOST_LEVELS = 9
BULLET = "-"

_GANADA = "가나다라마바사아자차카타파하"
_JAMO = "ㄱㄴㄷㄹㅁㅂㅅㅇㅈㅊㅋㅌㅍㅎ"
_CIRCLED = "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳"
_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"))
_ROMAN_UNITS = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")


class _Level(NamedTuple):
    """A level of a list: the form of its numbers, the text around them, and the first number."""

    form: str = "decimal"
    spelled: str = "%1."
    start: int = 1


class Numbering:
    """Counts the paragraphs of each list."""

    def __init__(self, tree: Element) -> None:
        """`tree` is the content of numbering.xml."""
        levels = {each.get("abstractNumId"): _levels(each) for each in found(tree, "abstractNum")}
        self._list_of: dict[str, str] = {}
        self._levels: dict[str, Mapping[int, _Level]] = {}
        for each in found(tree, "num"):
            of, name = each.find("abstractNumId"), each.get("numId", "")
            shared = "" if of is None else of.get("val", "")
            overrides = {int(at): level for at, level in _overrides(each).items()}
            self._list_of[name] = name if overrides else f"of {shared}"
            self._levels[name] = {**levels.get(shared, {}), **overrides}
        self._counts: dict[str, dict[int, int]] = {}

    def number(self, list_id: str, level: int) -> str:
        """The number of the next paragraph at that level of a list; "" if the level has none."""
        levels = self._levels.get(list_id)
        if not levels or list_id == "0":
            return ""
        level = min(level, _MOST_LEVELS - 1)
        counts = self._counts.setdefault(self._list_of[list_id], {})
        own = levels.get(level, _Level())
        counts[level] = counts.get(level, own.start - 1) + 1
        for deeper in [each for each in counts if each > level]:
            del counts[deeper]
        if own.form == "bullet":
            return BULLET
        if own.form == "none":
            return ""

        def spell(place: re.Match[str]) -> str:
            at = int(place[1]) - 1
            of = levels.get(at, _Level())
            return numeral(counts.get(at, of.start), of.form)

        return _PLACE.sub(spell, own.spelled).strip()


def _levels(element: Element) -> dict[int, _Level]:
    return {at: _level(each) for each in found(element, "lvl") if (at := _int(each.get("ilvl"), -1)) >= 0}


def _overrides(element: Element) -> dict[int, _Level]:
    """The levels that a list defines itself."""
    return {at: level for each in found(element, "lvlOverride") for at, level in _levels(each).items()}


def _level(element: Element) -> _Level:
    values = {each.tag: each.get("val", "") for each in element}
    form = values.get("numFmt", "decimal")
    return _Level(form, values.get("lvlText", ""), _int(values.get("start"), 1))


def _int(text: str | None, default: int) -> int:
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 7 else default


def numeral(number: int, form: str) -> str:
    """A number in a form that Word names; decimal for a form that kb does not know."""
    for letters, names in ((_GANADA, ("ganada",)), (_JAMO, ("chosung",)), (_CIRCLED, ("decimalEnclosedCircle",))):
        if form in names and 0 < number <= len(letters):
            return letters[number - 1]
    spelled: Mapping[str, Callable[[int], str]] = {"lowerLetter": _letter, "lowerRoman": _roman}
    lower = form.replace("upper", "lower")
    if lower not in spelled or number < 1:
        return str(number)
    text = spelled[lower](number)
    return text.upper() if form != lower else text


def _letter(number: int) -> str:
    return chr(ord("a") + (number - 1) % 26) * min((number - 1) // 26 + 1, 9)


def _roman(number: int) -> str:
    text = ""
    for value, letters in _ROMAN:
        text += letters * min(number // value, 9)
        number %= value
    return text + _ROMAN_UNITS[number]
