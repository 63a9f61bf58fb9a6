"""Text from documents for a terminal: nothing in it may move the cursor, change colours or turn the line around."""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def clean(text: str) -> str:
    """`text` with a mark for each character that would act on the terminal; tabs become spaces, line ends stay."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text).expandtabs(4)


def clean_line(text: str) -> str:
    """The same on one line."""
    return " ".join(clean(text).split())
