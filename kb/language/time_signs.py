"""Whether a question may speak of days at all: looked for before any pattern for them is loaded."""

from __future__ import annotations

from kb.language.lists import rows, words

_LISTS = "time_signs"
_YEARS = ("19", "20")


def may_name_days(text: str) -> bool:
    """False where nothing in the text can name a day, a week, a month or a year."""
    if any(sign in text for sign in rows(_LISTS)["korean"]):
        return True
    written = (word.removesuffix("'s").strip(".,;:?!()\"'") for word in text.lower().split())
    return any(word in words(_LISTS, "english") or word.startswith(_YEARS) for word in written)
