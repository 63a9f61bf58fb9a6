"""Whether a question may speak of days at all: looked for before any pattern for them is loaded."""

from __future__ import annotations

_KOREAN_SIGNS = (
    "오늘", "어제", "그제", "그저께", "내일", "모레", "이번", "지난", "저번", "다음", "작년", "올해", "내년", "최근",
    "년", "월",
    "일 전", "일전", "주 전", "주전", "달 전", "달전", "해 전", "틀 전", "틀전", "흘 전", "흘전", "루 전", "루전",
)  # fmt: skip
_ENGLISH_SIGNS = frozenset(
    "today yesterday tomorrow day days week weeks month months year years ago last past next this "
    "january february march april may june july august september october november december "
    "jan feb mar apr jun jul aug sep sept oct nov dec".split()
)
_YEARS = ("19", "20")


def may_name_days(text: str) -> bool:
    """False where nothing in the text can name a day, a week, a month or a year."""
    if any(sign in text for sign in _KOREAN_SIGNS):
        return True
    words = (word.removesuffix("'s").strip(".,;:?!()\"'") for word in text.lower().split())
    return any(word in _ENGLISH_SIGNS or word.startswith(_YEARS) for word in words)
