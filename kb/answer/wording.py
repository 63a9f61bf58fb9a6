"""What a refusal says and the headings around an answer: in Korean where the question is, else in English."""

from __future__ import annotations

from collections.abc import Mapping

from kb.domain.answers import RefusalReason

_REFUSALS: Mapping[RefusalReason, Mapping[str, str]] = {
    "score_gate": {
        "ko": "근거 부족. 노트에 이 질문의 답이 없습니다.",
        "en": "Not in your notes: nothing found is likely to answer this.",
    },
    "llm_self_judge": {
        "ko": "근거 부족. 찾은 곳에서 확인되는 답이 없습니다.",
        "en": "Not in your notes: what was found does not answer this.",
    },
    "no_index": {
        "ko": "아직 색인된 노트가 없습니다.",
        "en": "Nothing is indexed yet.",
    },
    "no_chunks": {
        "ko": "근거 부족. 질문의 말이 나오는 곳이 없습니다.",
        "en": "Not in your notes: nothing was found for these words.",
    },
    "llm_stream_aborted": {
        "ko": "답변이 끝나기 전에 멈췄습니다.",
        "en": "The answer was stopped before the end.",
    },
}

LITERAL_SHARE = 0.5
"""From this share of a question's weight on, its words are said to have been found."""

# Why there is no answer, in the line below it.
_OUTCOMES: Mapping[str, str] = {
    "score_gate": "no answer: too little evidence",
    "llm_self_judge": "no answer: not in what was found",
    "no_index": "no answer: nothing is indexed",
    "no_chunks": "no answer: nothing was found",
    "llm_stream_aborted": "no answer: stopped",
}


def refusal_text(reason: RefusalReason, language: str) -> str:
    """The sentence a refusal is shown with."""
    words = _REFUSALS[reason]
    return words.get(language, words["en"])


_NEAREST = {"ko": "가장 가까운 곳:", "en": "nearest places:"}
_CHECKED = {"ko": "출처와 대조한 뒤:", "en": "after checking against the sources:"}


_UNSURE = {"ko": "확실하지 않지만, 아마 이것일 수 있습니다:", "en": "Perhaps this; not sure:"}
_FOUND = {
    "words": {"ko": "질문의 말 그대로 찾음", "en": "found literally"},
    "meaning": {"ko": "뜻으로 찾음", "en": "found by meaning"},
    "other": {"ko": "다른 언어에서 찾음", "en": "found in another language"},
}


def unsure_heading(language: str) -> str:
    """What stands above an answer that kb is not sure of."""
    return _UNSURE.get(language, _UNSURE["en"])


def how_found(language: str, *, words: float, in_own_language: bool) -> str:
    """How the best passage was found; `words` is the share of the question's weight that one passage carries."""
    how = _FOUND["other" if not in_own_language else "words" if words >= LITERAL_SHARE else "meaning"]
    return how.get(language, how["en"])


def nearest_heading(language: str) -> str:
    """What stands above the places a refusal names."""
    return _NEAREST.get(language, _NEAREST["en"])


def checked_heading(language: str) -> str:
    """What stands between a text shown as it was generated and what the checks left of it."""
    return _CHECKED.get(language, _CHECKED["en"])


def outcome_words(refusal_reason: str | None, *, is_quoted: bool, grounded: bool, is_sure: bool) -> str:
    """How an answer came about, in words that need no explanation: `quoted` from the notes, or written by a model."""
    if refusal_reason is not None:
        return _OUTCOMES[refusal_reason]
    if is_quoted:
        return "quoted" if is_sure else "quoted, not sure"
    if not is_sure:
        return "not sure"
    return "grounded ✓" if grounded else "grounded ✗"
