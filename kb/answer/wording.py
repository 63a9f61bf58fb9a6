"""Messages about an answer and its sentences: in Korean for a Korean question, else in English."""

from __future__ import annotations

from collections.abc import Mapping

from kb.domain.answers import Answer, ClaimStatus, Hop
from kb.errors import KbError
from kb.language.detect import query_language

LITERAL_SHARE = 0.5
"""From this share of a question's weight on, its words are reported as found."""

NAMED_LANGUAGES = frozenset(("ko", "en", "ja", "zh"))
"""The languages of notes that a message names."""

# English and Korean; the arguments of a message fill its braces in order.
_OUTCOMES: Mapping[str, tuple[str, str]] = {
    # Refusals, by their reason.
    "score_gate": ("I did not find an answer in your notes.", "노트에서 답을 찾지 못했습니다."),
    "llm_self_judge": (
        "I did not find an answer in your notes: what was found does not answer this.",
        "노트에서 답을 찾지 못했습니다. 찾은 곳에서 확인되는 답이 없습니다.",
    ),
    "no_index": ("Nothing is indexed yet.", "아직 색인된 노트가 없습니다."),
    "no_chunks": (
        "Not in your notes: nothing was found for these words.",
        "노트에 없습니다. 질문의 말이 나오는 곳이 없습니다.",
    ),
    "llm_stream_aborted": ("The answer was stopped before the end.", "답변이 끝나기 전에 멈췄습니다."),
    # How an answer was made, in the line below it; the reason where there is none.
    "outcome score_gate": ("no answer: too little evidence", "답 없음: 근거 부족"),
    "outcome llm_self_judge": ("no answer: not in what was found", "답 없음: 찾은 곳에 답이 없음"),
    "outcome no_index": ("no answer: nothing is indexed", "답 없음: 색인된 노트 없음"),
    "outcome no_chunks": ("no answer: nothing was found", "답 없음: 찾은 곳 없음"),
    "outcome llm_stream_aborted": ("no answer: stopped", "답 없음: 중단됨"),
    "outcome quoted": ("quoted", "원문 인용"),
    "outcome quoted, not sure": ("quoted, not sure", "원문 인용, 확실하지 않음"),
    "outcome not sure": ("not sure", "확실하지 않음"),
    "outcome grounded": ("grounded ✓", "출처 확인 ✓"),
    "outcome not grounded": ("grounded ✗", "출처 확인 ✗"),
    # Headings.
    "unsure": ("Perhaps:", "확실하지 않지만 아마:"),
    "nearest": ("nearest places:", "가장 가까운 곳:"),
    "checked": ("after checking against the sources:", "출처와 대조한 뒤:"),
}

# Why kb is sure of an answer or not.
_SURENESS: Mapping[str, tuple[str, str]] = {
    "sure words": (
        "Sure: one place has most words of the question.",
        "확실한 까닭: 한 곳에 질문의 말이 대부분 나옵니다.",
    ),
    "sure meaning": (
        "Sure: one place probably answers the question in other words.",
        "확실한 까닭: 한 곳이 다른 말로 질문에 답하는 것으로 보입니다.",
    ),
    "sure code": ("Sure: this is the code that the question names.", "확실한 까닭: 질문이 가리키는 코드입니다."),
    "unsure words": (
        "Not sure: the best place has words of the question, and may still not answer it.",
        "확실하지 않은 까닭: 가장 나은 곳에 질문의 말이 있지만 답이 아닐 수 있습니다.",
    ),
    "unsure meaning": (
        "Not sure: the best place has few words of the question.",
        "확실하지 않은 까닭: 가장 나은 곳에 질문의 말이 적습니다.",
    ),
    "unsure code": (
        "Not sure: this may not be the code that the question means.",
        "확실하지 않은 까닭: 질문이 뜻하는 코드가 아닐 수 있습니다.",
    ),
    "unsure written": (
        "Not sure: not every sentence could be checked against its source.",
        "확실하지 않은 까닭: 출처와 대조하지 못한 문장이 있습니다.",
    ),
    "refused": (
        "No answer: no place is near enough to the question.",
        "답이 없는 까닭: 질문에 충분히 가까운 곳이 없습니다.",
    ),
}

# What may be wrong with the best place.
_DOUBTS: Mapping[str, tuple[str, str]] = {
    "doubtful": (
        "the best sentence has another number or name than the question, denies it or says the opposite",
        "가장 나은 문장이 질문과 다른 수, 이름, 부정이나 반대를 말함",
    ),
    "lacks definition": ("the best place does not say what it is", "가장 나은 곳이 무엇인지 설명하지 않음"),
    "lacks number": ("the best place has no number", "가장 나은 곳에 수가 없음"),
    "lacks comparison": (
        "the best place does not have both things that are compared",
        "가장 나은 곳에 비교하는 두 가지가 다 나오지 않음",
    ),
    "lacks kinds": (
        "the best place has it as one item of a list, and not its kinds",
        "가장 나은 곳이 그것을 목록의 한 항목으로 들 뿐 종류를 나열하지 않음",
    ),
    "lacks steps": (
        "the best place says what it is, not how it is done",
        "가장 나은 곳이 무엇인지만 말하고 하는 방법은 말하지 않음",
    ),
    "lacks announced": ("the best place only announces what follows", "가장 나은 곳이 뒤에 나올 것을 알릴 뿐임"),
    "of_other_days": ('nothing says that this is of "{}"', '"{}"의 글이라는 표시가 없는 곳'),
}

_NOTES: Mapping[str, tuple[str, str]] = {
    "evidence": ("evidence {}", "근거 {}"),
    # Notes beside an answer.
    "not_kept": ("this answer was not kept: {}", "이 답변은 저장되지 않았습니다: {}"),
    "did_not_answer": ("{} did not answer: {}", "{} 모델이 답하지 않았습니다: {}"),
    "without_judge": (
        "checked by the rules alone, without the claim judge: {}",
        "판정 모델 없이 규칙으로만 대조했습니다: {}",
    ),
    "quoted_instead": (
        "{} wrote nothing that its sources support; these are your notes' own sentences",
        "{} 모델의 글은 출처로 뒷받침되지 않아, 노트의 문장을 그대로 보입니다",
    ),
    "kept_from_models": (
        "all that was found is kept from language models (exposure.never_to_llm), so none wrote this",
        "찾은 글은 모두 언어 모델에 주지 않도록 정한 것이라(exposure.never_to_llm), 모델 없이 답합니다",
    ),
    "stopped": ("stopped before the end", "끝나기 전에 멈췄습니다"),
    "quoted in ko": ("the note is in Korean, and quoted as written", "한국어 노트의 원문입니다"),
    "quoted in en": ("the note is in English, and quoted as written", "영어 노트의 원문입니다"),
    "quoted in ja": ("the note is in Japanese, and quoted as written", "일본어 노트의 원문입니다"),
    "quoted in zh": ("the note is in Chinese, and quoted as written", "중국어 노트의 원문입니다"),
    "written_on": ('"{}" was written on {}', '"{}": {}에 쓴 노트'),
    "differ": ("{} and {} differ", "{}과 {}가 서로 다릅니다"),
    "differ, dated": ("{} and {} differ: they are of {} and {}", "{}과 {}가 서로 다릅니다: 쓴 날 {}, {}"),
    "goes_on": ("the whole definition: {}", "정의 전체: {}"),
    "bound steps": (
        "stopped at the most steps allowed (rag.deep_steps)",
        "정해진 단계 수에서 멈췄습니다 (rag.deep_steps)",
    ),
    "bound time": (
        "no further step: out of time (rag.deep_seconds)",
        "정해진 시간이 되어 멈췄습니다 (rag.deep_seconds)",
    ),
    "bound tokens": (
        "no further step: out of tokens (rag.deep_tokens)",
        "정해진 토큰 수에서 멈췄습니다 (rag.deep_tokens)",
    ),
}

_STEPS: Mapping[str, tuple[str, str]] = {
    # The reason of a step.
    "hop whole": ("the question as asked", "질문 그대로"),
    "hop part": ("a part of it", "질문의 한 부분"),
    "hop side": ("one side of the comparison", "비교하는 한쪽"),
    "hop planned": ("a part, as the model split it", "모델이 나눈 부분"),
    "hop needed": ("what the model still needed after that", "찾은 것에 더 필요하다고 모델이 본 것"),
    # The outcome of a model's sentences.
    "dropped": ("left out", "제외"),
    "not_checked": ("not checked", "확인 안 됨"),
    "weak": ("not sure", "불확실"),
}

_CLAIM_REASONS: Mapping[str, tuple[str, str]] = {
    "not_held": (
        "no sentence of its passages says this nearly word for word",
        "근거 구절에 이 문장을 거의 그대로 말하는 문장이 없음",
    ),
    "other_language": ("its passages are in another language", "근거 구절이 다른 언어로 쓰여 있음"),
    "too_long": ("it is too long to be compared with its passages", "너무 길어서 근거 구절과 대조할 수 없음"),
    "instruction": ("it only repeats an instruction found in its passage", "근거 구절에 적힌 지시를 되풀이할 뿐임"),
    "quotation_absent": ("the quotation “{}” is in none of its passages", "인용한 “{}”이(가) 근거 구절에 없음"),
    "absent": ("“{}” is in none of its passages", "“{}”이(가) 근거 구절에 없음"),
    "instead": ("its passage says “{}” there, not “{}”: {}", "근거 구절에는 그 자리에 “{}”, “{}”이(가) 아님: {}"),
    "uncited": (
        "it cites no passage, and none carries its words",
        "인용한 구절도, 이 문장의 말이 나오는 구절도 없음",
    ),
    "no_words": ("no passage carries its words", "이 문장의 말이 나오는 구절이 없음"),
    "judge_contradicts": ("{} finds that its passages say otherwise", "{}: 근거 구절이 달리 말한다고 봄"),
    "judge_unsure": ("{} does not find it in its passages", "{}: 근거 구절에서 확인되지 않는다고 봄"),
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
    "other_model": "벡터를 만든 모델이 지금 모델과 다릅니다",
    "timeout": "정해진 시간 안에 답이 오지 않았습니다",
    "stream_broken": "글이 오다가 끊겼습니다",
    "prompt_too_long": "질문과 찾은 구절이 모델이 읽을 수 있는 길이를 넘습니다",
    "model_error": "모델을 쓸 수 없습니다",
    "query_syntax": "검색식을 읽을 수 없습니다. 바깥 따옴표를 빼면 단어로 찾습니다",
}

_MESSAGES: Mapping[str, tuple[str, str]] = {**_OUTCOMES, **_SURENESS, **_DOUBTS, **_NOTES, **_STEPS, **_CLAIM_REASONS}


def say(language: str, message: str, *about: str) -> str:
    """A message in Korean or English, with the given words inserted."""
    english, korean = _MESSAGES[message]
    return (korean if language == "ko" else english).format(*about)


def why(language: str, error: KbError) -> str:
    """The reason of a failure. In Korean, the kind of `error` with the places and names in it."""
    if language != "ko":
        return error.message
    kinds = (kind.code for kind in type(error).__mro__ if issubclass(kind, KbError))
    said = next((_WHY_KO[code] for code in kinds if code in _WHY_KO), error.message)
    return f"{said} ({', '.join(error.details.values())})" if error.details else said


def judged_words(language: str, status: ClaimStatus, count: int, total: int) -> str:
    """A sentence on how many of a model's sentences were left out, were not checked, or are not sure."""
    said = say(language, status)
    return f"문장 {total}개 중 {count}개 {said}" if language == "ko" else f"{count} of {total} sentences {said}"


def unsure_heading(language: str) -> str:
    """The heading of an answer that kb is not sure of."""
    return say(language, "unsure")


def nearest_heading(language: str) -> str:
    """The heading above the places that a refusal names."""
    return say(language, "nearest")


def checked_heading(language: str) -> str:
    """The heading that comes between the generated text and the text after the checks."""
    return say(language, "checked")


def why_words(answer: Answer) -> str | None:
    """A sentence on why kb is sure or unsure of an answer, or refuses; None if the reason is not the evidence."""
    language, evidence = query_language(answer.question), answer.retrieval.evidence
    if evidence is None or answer.refusal_reason not in (None, "score_gate"):
        return None
    if answer.refusal_reason is not None:
        return say(language, "refused")
    if not answer.grounded:
        return say(language, "unsure written")
    how = "words" if evidence.lexical >= LITERAL_SHARE else "meaning"
    state = "sure" if answer.state == "answered" else "unsure"
    return say(language, f"{state} {'code' if evidence.channel == 'code' else how}")


def outcome_words(language: str, refusal_reason: str | None, *, is_quoted: bool, grounded: bool, is_sure: bool) -> str:
    """How an answer was made, in plain words: quoted from the notes, or written by a model."""
    if refusal_reason is not None:
        outcome = refusal_reason
    elif is_quoted:
        outcome = "quoted" if is_sure else "quoted, not sure"
    elif is_sure:
        outcome = "grounded" if grounded else "not grounded"
    else:
        outcome = "not sure"
    return say(language, f"outcome {outcome}")


def share_words(language: str, cited: int, used: int) -> str:
    """How many of the usable passages an answer cites."""
    if language == "ko":
        return f"{used}곳 중 {cited}곳 인용"
    return f"{cited} of {used} passage{'' if used == 1 else 's'} cited"


def evidence_words(language: str, value: str) -> str:
    """A phrase on how likely the hits contain an answer."""
    return say(language, "evidence", value)


def two_places(share: float) -> str:
    """A number with two decimals, cut off and not rounded, so that a value below the gate looks below it."""
    return f"{int(share * 100) / 100:.2f}"


def hop_line(hop: Hop) -> str:
    """One line on a step of a deep answer: its question, reason and result."""
    language = query_language(hop.question)
    evidence = "" if hop.evidence is None else f", {evidence_words(language, two_places(hop.evidence))}"
    return f"{hop.question} ({say(language, f'hop {hop.why}')}) → {hop.state}{evidence}"
