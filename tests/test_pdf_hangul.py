"""Korean PDFs as TeX sets them: words apart by gaps alone, lines far apart; read with spaces, a paragraph as one."""

from __future__ import annotations

import json

import pytest

pymupdf = pytest.importorskip("pymupdf")

from kb.domain.derived import ExtractSettings, Job  # noqa: E402
from kb.domain.kinds import PDF  # noqa: E402
from kb.extract.pdf.text import derive  # noqa: E402

LINES = (
    "그 패키지의 특정 기능과 동작을 제어하기 위한 키워드의 목록이다. 전처리부에서만 쓸 수 있고",
    "요즘 TeX 배포판은 엄청난 수의 패키지를 한꺼번에 설치해 준다. 각 패키지 문서를 참조하려면",
    "명령을 사용한다. 표 1.3을 보라.",
)
SIZE = 10.0


def without_spaces(gap: float, lines: tuple[str, ...] = LINES, letter_gap: float = 0.0, top: float = 100.0) -> bytes:
    """A page whose words are so many letters' heights apart, and its letters too, without a space between them."""
    pdf = pymupdf.open()
    page = pdf.new_page(width=595, height=842)
    font = pymupdf.Font("korea")
    for at, line in enumerate(lines):
        left = 72.0
        writer = pymupdf.TextWriter(page.rect)
        for word in line.split():
            for letter in word:
                writer.append((left, top + 16 * at), letter, font=font, fontsize=SIZE)
                left += font.text_length(letter, SIZE) + letter_gap * SIZE
            left += gap * SIZE
        writer.write_text(page)
    return bytes(pdf.tobytes())


def read(data: bytes) -> list[str]:
    """The text of the first page, block by block."""
    page = json.loads(derive(Job(data, PDF, {}, ExtractSettings(), lambda progress: None)))["pages"][0]
    return [page["text"][start:end] for _, _, start, end, _ in page["blocks"]]


def test_korean_words_apart_by_gaps_alone_are_read_apart() -> None:
    assert " ".join(read(without_spaces(0.27))).split() == " ".join(LINES).split()


def test_lines_of_a_korean_paragraph_are_one_paragraph() -> None:
    assert read(without_spaces(0.27)) == ["\n".join(LINES)]


def test_a_letter_spaced_title_is_one_word() -> None:
    assert read(without_spaces(0.27, ("목차안내서",), letter_gap=0.3)) == ["목차안내서"]


def test_code_between_korean_words_keeps_its_characters() -> None:
    line = "이것은 \\textbf{\\jamoword{<args>}} 처럼 쓴다"
    assert read(without_spaces(0.27, (line,))) == [line]
