"""What kb says of an answer is in the language of its question, reasons included."""

from __future__ import annotations

import re

import pytest

from kb.answer.wording import say, why
from kb.errors import KbError, ModelError, ModelMissing, ModelUnreachable, StoreBusy, StoreError
from kb.retrieve.notes import by_words_only, note


def kinds_of(kind: type[KbError]) -> list[type[KbError]]:
    return [kind, *(each for below in kind.__subclasses__() for each in kinds_of(below))]


def without_names(note: str) -> str:
    """A note without the name of its model."""
    return note.removeprefix("qwen")


@pytest.mark.parametrize("kind", kinds_of(ModelError), ids=lambda kind: kind.__name__)
def test_the_reason_in_a_korean_note_is_korean_whatever_failed(kind: type[ModelError]) -> None:
    failed = kind("the model took longer than it was given", "wait")
    note = say("ko", "did_not_answer", "qwen", why("ko", failed))
    assert re.findall("[A-Za-z]+", without_names(note).replace("kb", "")) == []
    assert (
        say("en", "did_not_answer", "qwen", why("en", failed))
        == "qwen did not answer: the model took longer than it was given"
    )


@pytest.mark.parametrize("kind", kinds_of(StoreError), ids=lambda kind: kind.__name__)
def test_why_an_answer_was_not_kept_is_said_in_its_language(kind: type[StoreError]) -> None:
    note = say("ko", "not_kept", why("ko", kind("another program is writing to it")))
    assert re.findall("[A-Za-z]+", note.replace("kb", "")) == []


def test_different_failures_have_different_reasons() -> None:
    kinds = [kind for kind in kinds_of(ModelError) if kind is not ModelError]
    assert len({say("ko", "did_not_answer", "qwen", why("ko", kind("x"))) for kind in kinds}) == len(kinds)
    assert (
        say("ko", "not_kept", why("ko", StoreBusy("x")))
        == "이 답변은 저장되지 않았습니다: 다른 프로그램이 같은 데이터베이스에 쓰고 있습니다"
    )


def test_what_a_reason_is_about_is_named() -> None:
    failed = ModelUnreachable("no server", details={"endpoint": "http://127.0.0.1:11434"})
    assert say("ko", "did_not_answer", "qwen", why("ko", failed)).endswith(
        "서버에 연결할 수 없습니다 (http://127.0.0.1:11434)"
    )


@pytest.mark.parametrize(
    ("hint", "shown"),
    [
        ("run `kb models install e5` where a model hub can be reached", " (kb models install e5)"),
        ("kb index --embeddings", " (kb index --embeddings)"),
        ("set the model", ""),
    ],
)
def test_a_korean_note_names_the_command_and_no_english_advice(hint: str, shown: str) -> None:
    note = by_words_only("게이트웨이는 몇 번 시도하나", ModelMissing("x", hint))
    assert note == f"단어로만 검색: 의미로 찾을 벡터나 모델이 없습니다{shown}"


def test_a_note_is_labelled_in_its_language() -> None:
    assert (note("게이트웨이는 몇 번 시도하나", "label"), note("How often?", "label")) == ("참고", "note")
