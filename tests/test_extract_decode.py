"""Bytes become the text an editor would show, in every encoding Korean and English notes come in."""

from __future__ import annotations

import pytest

from kb.extract.decode import decode

KOREAN = "# 회의록\n\n오늘은 검색 엔진의 색인 구조를 살펴보았다. 다음 주에 다시 만나기로 했습니다.\n"
ENGLISH = "# Minutes\n\nNothing was decided.\n"


@pytest.mark.parametrize("text", [KOREAN, ENGLISH, KOREAN + ENGLISH, "가", "a", ""])
@pytest.mark.parametrize(
    ("encoding", "mark"),
    [
        ("utf-8", b""),
        ("utf-8", b"\xef\xbb\xbf"),
        ("utf-16-le", b"\xff\xfe"),
        ("utf-16-be", b"\xfe\xff"),
        ("utf-32-le", b"\xff\xfe\0\0"),
        ("utf-32-be", b"\0\0\xfe\xff"),
    ],
)
def test_unicode_encodings(text: str, encoding: str, mark: bytes) -> None:
    decoded = decode(mark + text.encode(encoding))
    assert (decoded.text, decoded.encoding, decoded.warnings) == (text, encoding, ())


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", [KOREAN, ENGLISH])
def test_utf16_without_a_mark(encoding: str, text: str) -> None:
    decoded = decode(text.encode(encoding))
    assert (decoded.text, decoded.encoding, decoded.warnings) == (text, encoding, ())


@pytest.mark.parametrize("text", [KOREAN, KOREAN + ENGLISH, ENGLISH * 50 + "끝", "똠방각하와 펲시콜라를 마신 이야기"])
def test_cp949(text: str) -> None:
    decoded = decode(text.encode("cp949"))
    assert (decoded.text, decoded.encoding, decoded.warnings) == (text, "cp949", ())


def test_western_8_bit_text_is_not_taken_for_korean() -> None:
    decoded = decode("L'été à Noël, déjà vu à l'hôtel.".encode("latin-1"))
    assert decoded.encoding == "utf-8"
    assert decoded.text.startswith("L'\ufffdt\ufffd")
    assert [warning.kind for warning in decoded.warnings] == ["encoding_fallback"]


def test_one_bad_byte_in_korean_text_is_replaced_alone() -> None:
    decoded = decode(KOREAN.encode("cp949") + b"\xff" + "끝".encode("cp949"))
    assert decoded.text == KOREAN + "\ufffd끝"
    assert [warning.kind for warning in decoded.warnings] == ["encoding_fallback"]


def test_one_bad_byte_in_utf8_is_replaced_alone() -> None:
    decoded = decode(KOREAN.encode() + b"\xff" + KOREAN.encode())
    assert decoded.text == KOREAN + "\ufffd" + KOREAN
    assert [warning.kind for warning in decoded.warnings] == ["encoding_fallback"]


def test_line_ends_and_nul() -> None:
    assert decode(b"a\r\nb\rc\n\r\nd\0e\r\r\n").text == "a\nb\nc\n\nd\ufffde\n\n"


def test_a_stray_nul_does_not_make_utf16() -> None:
    assert decode(b"plain text with a \0 in it, and more of it").encoding == "utf-8"


def test_text_that_is_not_nfc_stays_as_written() -> None:
    decomposed = "\u1112\u1161\u11ab\u1100\u1173\u11af cafe\u0301"
    assert decode(decomposed.encode()).text == decomposed
