"""Text from documents for a terminal: nothing in it may move the cursor, change colours or turn the line around."""

from __future__ import annotations

import re

from kb.domain.text import ACTS_ON_TERMINALS

# Characters without a width, too: Textual counts cells.
_CONTROL = re.compile(rf"[{ACTS_ON_TERMINALS}\u200b\ufeff]")


def clean(text: str) -> str:
    """`text` with a mark for each character that would act on the terminal; tabs become spaces, line ends stay."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text).expandtabs(4)


def clean_line(text: str) -> str:
    """The same on one line."""
    return " ".join(clean(text).split())
