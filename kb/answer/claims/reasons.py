"""Why a sentence was left out or is not sure, in the language of the question it answers."""

from __future__ import annotations

from collections.abc import Mapping

from kb.domain.answers.claims import Reason, ReasonKind

# English and Korean; what a reason is about fills the braces in its order.
_WORDS: Mapping[ReasonKind, tuple[str, str]] = {
    "few_words": ("its passages carry {} of its words", "근거 구절에 이 문장의 말은 {}만 있음"),
    "too_long": ("it is too long to be compared with its passages", "너무 길어서 근거 구절과 대조할 수 없음"),
    "instruction": ("it only repeats an instruction found in its passage", "근거 구절에 적힌 지시를 되풀이할 뿐임"),
    "quotation_absent": ("the quotation “{}” is in none of its passages", "인용한 “{}”이(가) 근거 구절에 없음"),
    "counted_otherwise": ("{} is counted otherwise in its passages", "근거 구절은 {}을(를) 다르게 셈"),
    "absent": ("“{}” is in none of its passages", "“{}”이(가) 근거 구절에 없음"),
    "reversed": ("its passage says the reverse of “{}”: {}", "근거 구절은 “{}”을(를) 반대로 말함: {}"),
    "other_direction": ("its passage goes the other way: {}", "근거 구절에서는 방향이 반대임: {}"),
    "instead": ("its passage says “{}”, not “{}”: {}", "근거 구절에는 “{}”, “{}”이(가) 아님: {}"),
    "exchanged": ("its passage has it the other way round: {}", "근거 구절에서는 서로 바뀌어 있음: {}"),
    "denies_else": ("its passage denies something else: {}", "근거 구절이 부정하는 것은 다른 것임: {}"),
    "denied_here": (
        "it denies “{}”, and its passage does not",
        "이 문장은 “{}”을(를) 부정하지만 근거 구절은 그러지 않음",
    ),
    "denied_there": ("its passage denies “{}”", "근거 구절은 “{}”을(를) 부정함"),
    "may_mean": ("its passage may speak of “{}” there: {}", "근거 구절의 이 말은 “{}”에 관한 것일 수 있음: {}"),
    "instead_there": ("its passage says “{}” there, not “{}”: {}", "근거 구절에는 그 자리에 “{}”, “{}”이(가) 아님: {}"),
    "not_together": ("its passage does not say “{}” of the same", "근거 구절은 같은 것을 두고 “{}”(이)라고 하지 않음"),
    "uncited": (
        "it cites no passage, and none carries its words",
        "인용한 구절도, 이 문장의 말이 나오는 구절도 없음",
    ),
    "second_contradicts": ("{} finds that its passages say otherwise", "{}: 근거 구절이 달리 말한다고 봄"),
    "second_unsure": ("{} does not find it in its passages", "{}: 근거 구절에서 확인되지 않는다고 봄"),
    "no_words": ("no passage carries its words", "이 문장의 말이 나오는 구절이 없음"),
}


def in_words(reason: Reason, language: str) -> str:
    """A reason in Korean, or else in English."""
    english, korean = _WORDS[reason.kind]
    return (korean if language == "ko" else english).format(*reason.about)
