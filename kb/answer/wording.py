"""What a refusal says, and what is above and below an answer: Korean where the question is, else English."""

from __future__ import annotations

from collections.abc import Mapping

from kb.domain.answers.answer import ClaimStatus, Hop, HopReason, RefusalReason
from kb.errors import KbError
from kb.language.detect import query_language

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

# How an answer came about, in the line below it; the reason where there is none.
_OUTCOMES: Mapping[str, Mapping[str, str]] = {
    "score_gate": {"ko": "답 없음: 근거 부족", "en": "no answer: too little evidence"},
    "llm_self_judge": {"ko": "답 없음: 찾은 곳에 답이 없음", "en": "no answer: not in what was found"},
    "no_index": {"ko": "답 없음: 색인된 노트 없음", "en": "no answer: nothing is indexed"},
    "no_chunks": {"ko": "답 없음: 찾은 곳 없음", "en": "no answer: nothing was found"},
    "llm_stream_aborted": {"ko": "답 없음: 중단됨", "en": "no answer: stopped"},
    "quoted": {"ko": "원문 인용", "en": "quoted"},
    "quoted, not sure": {"ko": "원문 인용, 확실하지 않음", "en": "quoted, not sure"},
    "not sure": {"ko": "확실하지 않음", "en": "not sure"},
    "grounded": {"ko": "출처 확인 ✓", "en": "grounded ✓"},
    "not grounded": {"ko": "출처 확인 ✗", "en": "grounded ✗"},
}


def refusal_text(reason: RefusalReason, language: str) -> str:
    """The sentence a refusal is shown with."""
    return _in(language, _REFUSALS[reason])


_NEAREST = {"ko": "가장 가까운 곳:", "en": "nearest places:"}
_CHECKED = {"ko": "출처와 대조한 뒤:", "en": "after checking against the sources:"}


_NOT_KEPT = {"ko": "이 답변은 저장되지 않았습니다", "en": "this answer was not kept"}
_SILENT = {"ko": " 모델이 답하지 않았습니다", "en": " did not answer"}
_INSTEAD = {
    "ko": " 모델의 글은 출처로 뒷받침되지 않아, 노트의 문장을 그대로 보입니다",
    "en": " wrote nothing that its sources support; these are your notes' own sentences",
}
_KEPT_FROM_MODELS = {
    "ko": "찾은 글은 모두 언어 모델에 주지 않도록 정한 것이라(exposure.never_to_llm), 모델 없이 답합니다",
    "en": "all that was found is kept from language models (exposure.never_to_llm), so none wrote this",
}
_STOPPED = {"ko": "끝나기 전에 멈췄습니다", "en": "stopped before the end"}
_DOUBTFUL = {
    "ko": "가장 나은 문장이 질문과 다른 수, 이름, 부정이나 반대를 말함",
    "en": "the best sentence has another number or name than the question, denies it or says the opposite",
}

_UNSURE = {"ko": "확실하지 않지만, 아마 이것일 수 있습니다:", "en": "Perhaps this; not sure:"}
_FOUND = {
    "words": {"ko": "질문의 말 그대로 찾음", "en": "found literally"},
    "part": {"ko": "질문의 말 일부로 찾음", "en": "found by some of its words"},
    "meaning": {"ko": "뜻으로 찾음", "en": "found by meaning"},
    "other": {"ko": "다른 언어에서 찾음", "en": "found in another language"},
}


# What failed, by the code of the error; in English the error's own message says it.
_WHY_KO: Mapping[str, str] = {
    "disk_full": "디스크에 남은 공간이 없습니다",
    "store_busy": "다른 프로그램이 같은 데이터베이스에 쓰고 있습니다",
    "store_readonly": "데이터베이스 파일에 쓸 수 없습니다",
    "store_corrupt": "데이터베이스가 손상되었습니다",
    "schema_too_new": "더 새로운 kb가 만든 데이터베이스입니다",
    "store_error": "데이터베이스를 쓰지 못했습니다",
    "model_missing": "모델이나 모델을 실행할 프로그램이 설치되어 있지 않습니다",
    "model_corrupt": "모델 파일을 읽을 수 없습니다",
    "model_unreachable": "서버에 연결할 수 없습니다",
    "model_not_pulled": "서버에 그 모델이 없습니다",
    "timeout": "정해진 시간 안에 답이 오지 않았습니다",
    "stream_broken": "글이 오다가 끊겼습니다",
    "prompt_too_long": "질문과 찾은 구절이 모델이 읽을 수 있는 길이를 넘습니다",
    "model_error": "모델을 쓸 수 없습니다",
}


def not_kept(language: str, error: KbError) -> str:
    """That an answer could not be recorded, and why."""
    return f"{_in(language, _NOT_KEPT)}: {_why(language, error)}"


def did_not_answer(language: str, model: str, error: KbError) -> str:
    """That a language model failed before its first word, and why."""
    return f"{model}{_in(language, _SILENT)}: {_why(language, error)}"


def not_judged_twice(language: str, error: KbError) -> str:
    """That the second judge could not be asked, so that the rules judged alone, and why."""
    return f"{_in(language, _ALONE)}: {_why(language, error)}"


_ALONE = {
    "ko": "두 번째 판정 없이 규칙으로만 대조했습니다",
    "en": "checked by the rules alone, without the second judge",
}


def _why(language: str, error: KbError) -> str:
    """The reason in that language; in Korean what `error` is, with the places and names it is about."""
    if language != "ko":
        return error.message
    kinds = (kind.code for kind in type(error).__mro__ if issubclass(kind, KbError))
    said = next((_WHY_KO[code] for code in kinds if code in _WHY_KO), error.message)
    return f"{said} ({', '.join(error.details.values())})" if error.details else said


def quoted_instead(language: str, model: str) -> str:
    """That sentences of the notes stand in the place of a model's."""
    return f"{model}{_in(language, _INSTEAD)}"


def kept_from_models(language: str) -> str:
    """That no model was given what was found."""
    return _in(language, _KEPT_FROM_MODELS)


def stopped_early(language: str) -> str:
    """That the writing of an answer was interrupted."""
    return _in(language, _STOPPED)


def doubtful(language: str) -> str:
    """That the best sentence speaks of something else than the question does."""
    return _in(language, _DOUBTFUL)


def of_other_days(language: str, phrase: str) -> str:
    """That nothing says the best passage is of the days the question speaks of."""
    if language == "ko":
        return f'"{phrase}"의 글이라는 표시가 없는 곳'
    return f'nothing says that this is of "{phrase}"'


def judged_words(language: str, status: ClaimStatus, count: int, total: int) -> str:
    """How many sentences of a model were left out, or are not sure."""
    if language == "ko":
        return f"문장 {total}개 중 {count}개 {'제외' if status == 'dropped' else '불확실'}"
    return f"{count} of {total} sentences {'left out' if status == 'dropped' else 'not sure'}"


def unsure_heading(language: str) -> str:
    """What is above an answer that kb is not sure of."""
    return _in(language, _UNSURE)


def how_found(language: str, *, words: float, by_words: bool, in_own_language: bool) -> str:
    """How the best passage was found; `words` is the share of the question's weight that one passage carries."""
    if words >= LITERAL_SHARE:
        return _in(language, _FOUND["words"])
    return _in(language, _FOUND["part" if by_words else "meaning" if in_own_language else "other"])


def goes_on(language: str, place: str) -> str:
    """That a definition is longer than what is quoted of it; `place` has it whole."""
    return f"정의 전체: {place}" if language == "ko" else f"the whole definition: {place}"


def part_heading(place: int, question: str) -> str:
    """What is above the answer to a part of a question."""
    return f"{place}. {question}"


def stopped_at(language: str, bound: str) -> str:
    """Which bound ended the steps of a deep answer: steps, time or tokens."""
    key, unit = _BOUNDS[bound]
    return f"{_in(language, unit)} ({key})"


_BOUNDS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "steps": ("rag.deep_steps", {"ko": "정해진 단계 수에서 멈췄습니다", "en": "stopped at the most steps allowed"}),
    "time": ("rag.deep_seconds", {"ko": "정해진 시간이 되어 멈췄습니다", "en": "no further step: out of time"}),
    "tokens": ("rag.deep_tokens", {"ko": "정해진 토큰 수에서 멈췄습니다", "en": "no further step: out of tokens"}),
}


def hop_words(language: str, why: HopReason) -> str:
    """Why a step was taken."""
    return _in(language, _HOPS[why])


_HOPS: Mapping[HopReason, Mapping[str, str]] = {
    "whole": {"ko": "질문 그대로", "en": "the question as asked"},
    "part": {"ko": "질문의 한 부분", "en": "a part of it"},
    "side": {"ko": "비교하는 한쪽", "en": "one side of the comparison"},
    "planned": {"ko": "모델이 나눈 부분", "en": "a part, as the model split it"},
    "needed": {"ko": "찾은 것에 더 필요하다고 모델이 본 것", "en": "what the model still needed after that"},
}


def nearest_heading(language: str) -> str:
    """What is above the places a refusal names."""
    return _in(language, _NEAREST)


def checked_heading(language: str) -> str:
    """What is between a text shown as it was generated and what the checks left of it."""
    return _in(language, _CHECKED)


def outcome_words(language: str, refusal_reason: str | None, *, is_quoted: bool, grounded: bool, is_sure: bool) -> str:
    """How an answer came about, in words that need no explanation: `quoted` from the notes, or written by a model."""
    if refusal_reason is not None:
        outcome = refusal_reason
    elif is_quoted:
        outcome = "quoted" if is_sure else "quoted, not sure"
    elif is_sure:
        outcome = "grounded" if grounded else "not grounded"
    else:
        outcome = "not sure"
    return _in(language, _OUTCOMES[outcome])


def share_words(language: str, cited: int, used: int) -> str:
    """How many of the passages that an answer may use it cites."""
    if language == "ko":
        return f"{used}곳 중 {cited}곳 인용"
    return f"{cited} of {used} passage{'' if used == 1 else 's'} cited"


def evidence_words(language: str, value: str) -> str:
    """How likely the hits hold an answer."""
    return f"{'근거' if language == 'ko' else 'evidence'} {value}"


def two_places(share: float) -> str:
    """Cut, not rounded: what is below the gate looks below it."""
    return f"{int(share * 100) / 100:.2f}"


def hop_line(hop: Hop) -> str:
    """A step: what was asked, why, and what came of it."""
    language = query_language(hop.question)
    evidence = "" if hop.evidence is None else f", {evidence_words(language, two_places(hop.evidence))}"
    return f"{hop.question} ({hop_words(language, hop.why)}) → {hop.state}{evidence}"


def _in(language: str, words: Mapping[str, str]) -> str:
    return words.get(language, words["en"])
