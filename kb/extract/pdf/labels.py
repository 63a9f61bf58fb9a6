"""The numbers printed on a PDF's pages, from the rules the PDF gives for them (ISO 32000 §12.4.2)."""

from __future__ import annotations

import re
from codecs import BOM_UTF16_BE
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

_ROMAN = (
    (1000, "m"),
    (900, "cm"),
    (500, "d"),
    (400, "cd"),
    (100, "c"),
    (90, "xc"),
    (50, "l"),
    (40, "xl"),
    (10, "x"),
    (9, "ix"),
    (5, "v"),
    (4, "iv"),
    (1, "i"),
)
_HEX_TEXT = re.compile(r"<(?:[0-9A-Fa-f]{2})+>")


def page_labels(rules: Sequence[Mapping[str, Any]], page_count: int) -> Sequence[str]:
    """The label of each page; empty where no rule names the first page."""
    if not rules or rules[0]["startpage"] != 0:
        return ()
    labels: list[str] = []
    for (start, rule), (end, _) in pairwise([*((rule["startpage"], rule) for rule in rules), (page_count, {})]):
        prefix, style = _prefix(rule.get("prefix", "")), rule.get("style", "")
        first = rule.get("firstpagenum", 1)
        labels += [prefix + _numeral(first + index, style) for index in range(min(end, page_count) - start)]
    return labels


def _prefix(text: str) -> str:
    """A prefix as text; MuPDF hands on as hex what is not ASCII: UTF-16 by its mark, or what a writer took for text."""
    if not _HEX_TEXT.fullmatch(text):
        return text
    data = bytes.fromhex(text[1:-1])
    if data.startswith(BOM_UTF16_BE):
        return data[2:].decode("utf-16-be", "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _numeral(number: int, style: str) -> str:
    if style == "D":
        return str(number)
    if style in ("r", "R"):
        numeral = ""
        for value, digits in _ROMAN:
            numeral += digits * (number // value)
            number %= value
        return numeral.upper() if style == "R" else numeral
    if style in ("a", "A"):
        return chr(ord(style) + (number - 1) % 26) * ((number - 1) // 26 + 1)
    return ""
