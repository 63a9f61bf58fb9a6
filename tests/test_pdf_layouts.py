"""Layouts that a reader of PDFs gets wrong easily: frames, grouped rows, margins, gutters, hyphens; Korean of TeX."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

pytest.importorskip("pymupdf")

import pymupdf

from kb.domain.derived import ExtractSettings, StepJob
from kb.domain.kinds import PDF
from kb.extract.pdf import text as pdf_text
from kb.extract.pdf.pages import PdfPage, PdfText, read_pdf_text
from kb.language.pages import whole_words

A4 = (595, 842)
SENTENCES = (
    "The committee met on the third of March in Busan.",
    "It agreed to replace the pumps at station four before June.",
    "The price of one pump is 4,200 euro including delivery.",
    "Nobody objected to the proposal of the chair.",
)
LEFT = "The heron stands still in shallow water and waits for fish to come near. "
RIGHT = "Steel mills of the valley closed after the flood and never opened again. "


def read(data: bytes) -> PdfText:
    return read_pdf_text(pdf_text.derive(StepJob(data, PDF, {}, ExtractSettings(), lambda progress: None)))


def texts(page: PdfPage, kind: str) -> list[str]:
    return [page.text[block.start : block.end] for block in page.blocks if block.kind == kind]


def rows(table: str) -> list[list[str]]:
    lines = [line[2:-2].split(" | ") for line in table.split("\n")]
    return [lines[0], *lines[2:]]


def one_page() -> tuple[pymupdf.Document, pymupdf.Page]:
    pdf = pymupdf.open()
    return pdf, pdf.new_page(width=A4[0], height=A4[1])


def ruled(page: pymupdf.Page, xs: Sequence[float], ys: Sequence[float]) -> None:
    for x in xs:
        page.draw_line((x, ys[0]), (x, ys[-1]))
    for y in ys:
        page.draw_line((xs[0], y), (xs[-1], y))


def report_page(page: pymupdf.Page) -> None:
    """Four sentences and a ruled table of 3 × 3 cells."""
    for at, sentence in enumerate(SENTENCES):
        page.insert_text((72, 80 + 20 * at), sentence)
    ruled(page, (72, 172, 272, 372), (300, 320, 340, 360))
    for row in range(3):
        for column in range(3):
            page.insert_text((77 + 100 * column, 314 + 20 * row), f"c{row}{column}", fontsize=10)


def assert_is_report(page: PdfPage) -> None:
    assert texts(page, "paragraph") == list(SENTENCES)
    (table,) = texts(page, "table")
    assert rows(table) == [[f"c{row}{column}" for column in range(3)] for row in range(3)]


@pytest.mark.parametrize("frame", [(0, 0, 595, 842), (40, 40, 555, 800), (20, 280, 560, 380)])
@pytest.mark.parametrize("fill", [None, (0.9, 0.95, 1)])
def test_a_frame_around_a_page_is_no_table(
    frame: tuple[float, float, float, float], fill: tuple[float, float, float] | None
) -> None:
    pdf, page = one_page()
    page.draw_rect(frame, fill=fill)
    report_page(page)
    assert_is_report(read(pdf.tobytes()).pages[0])


def test_rows_that_are_ruled_off_in_groups_are_rows() -> None:
    pdf, page = one_page()
    ruled(page, (72, 200, 300, 400), (100, 120, 156, 210))
    wanted = [["Country", "2024", "2025"], ["Norway", "101", "108"], ["New Zealand", "202", "209"]]
    wanted += [["Chad", "303", "310"], ["South Korea", "404", ""], ["Peru", "505", "512"]]
    for row, y in zip(wanted, (114, 134, 150, 170, 186, 202), strict=True):
        for x, cell in zip((76, 204, 304), row, strict=True):
            page.insert_text((x, y), cell, fontsize=10)
    (table,) = texts(read(pdf.tobytes()).pages[0], "table")
    assert rows(table) == wanted


def test_the_lines_of_a_wrapped_cell_are_one_row() -> None:
    pdf, page = one_page()
    ruled(page, (72, 200, 330, 400), (100, 120, 160, 200))
    wanted = [["Part", "Use", "Days"]]
    wanted += [["intake grille of the\nupper station", "keeps drift wood out of\nthe turbine hall", "30"]]
    wanted += [["float gauge", "measures", "7"]]
    for row, y in zip(wanted, (114, 134, 174), strict=True):
        for x, cell in zip((76, 204, 334), row, strict=True):
            page.insert_text((x, y), cell, fontsize=10)
    (table,) = texts(read(pdf.tobytes()).pages[0], "table")
    assert rows(table) == [[cell.replace("\n", " ") for cell in row] for row in wanted]


def test_a_cell_across_columns_is_one_cell() -> None:
    pdf, page = one_page()
    ruled(page, (72, 172, 272, 372), (120, 140, 160))
    page.draw_rect((72, 100, 372, 120))
    page.insert_text((80, 114), "Prices of all the parts that were bought this year", fontsize=10)
    for row in range(2):
        for column in range(3):
            page.insert_text((77 + 100 * column, 134 + 20 * row), f"c{row}{column}", fontsize=10)
    (table,) = texts(read(pdf.tobytes()).pages[0], "table")
    assert rows(table)[0] == ["Prices of all the parts that were bought this year", "", ""]


def test_lines_through_sentences_make_no_table() -> None:
    pdf, page = one_page()
    ruled(page, (60, 150, 240, 330, 420), (60, 100, 140, 180))
    for at, sentence in enumerate(SENTENCES):
        page.insert_text((66, 80 + 28 * at), sentence)
    found = read(pdf.tobytes()).pages[0]
    assert texts(found, "table") == []
    assert " ".join(found.text.split()) == " ".join(SENTENCES)


def test_text_along_the_side_is_neither_title_nor_heading() -> None:
    pdf, page = one_page()
    page.insert_text((30, 500), "Archive:2501.01234v1  [bio]  2 Jan 2025", fontsize=20, rotate=90)
    page.insert_text((150, 90), "On the Speed of Herons", fontsize=17)
    page.insert_textbox((72, 150, 520, 400), "We measure how fast herons fly. " * 12)
    found = read(pdf.tobytes())
    assert found.title == "On the Speed of Herons"
    assert texts(found.pages[0], "heading") == ["On the Speed of Herons"]
    assert [block.kind for block in found.pages[0].blocks] == ["heading", "paragraph", "paragraph"]
    assert found.pages[0].text.endswith("2 Jan 2025")


def test_text_along_the_side_of_many_pages_is_furniture() -> None:
    pdf = pymupdf.open()
    for number in range(1, 4):
        page = pdf.new_page(width=A4[0], height=A4[1])
        page.insert_text((580, 300), f"Downloaded on 3 March 2025, sheet {number}", rotate=270)
        page.insert_textbox((72, 100, 500, 400), f"Sheet {number}. " + LEFT * 4)
    for page in read(pdf.tobytes()).pages:
        (furniture,) = texts(page, "furniture")
        assert furniture.startswith("Downloaded on 3 March")


@pytest.mark.parametrize("gutter", [5, 6, 8, 12])
def test_columns_near_each_other_are_read_one_after_the_other(gutter: float) -> None:
    pdf, page = one_page()
    width = (495 - gutter) / 2
    for part in range(5):
        for side, (name, text) in enumerate((("Left", LEFT), ("Right", RIGHT))):
            x, y = 50 + side * (width + gutter), 60 + 70 * part + 15 * side
            assert page.insert_textbox((x, y, x + width, y + 66), f"{name} {part}. {text * 2}", align=3) >= 0
    text = read(pdf.tobytes()).pages[0].text
    order = [text.index(f"{name} {part}.") for name in ("Left", "Right") for part in range(5)]
    assert order == sorted(order)


@pytest.mark.parametrize(
    ("broken", "whole"),
    [
        ("the decla-\nration of", "the declaration\nof"),
        ("the decla\u00ad\nration of", "the declaration\nof"),
        ("the decla\u2010\nration of", "the declaration\nof"),
        ("what infor-\nmation? None", "what information?\nNone"),
        ("an extraor-\ndi-\nnary day", "an extraordinary\nday"),
        ("ends in a hy-\nphen\nand goes on", "ends in a hyphen\nand goes on"),
        ("state-of-the-\nart pumps", "state-of-the-art\npumps"),
        ("the Straß-\nenbahn", "the Straßenbahn"),
        ("the North-\nSouth line", "the North-\nSouth line"),
        ("pages 10-\n12 of it", "pages 10-\n12 of it"),
        ("a dash -\nnot a hyphen", "a dash -\nnot a hyphen"),
    ],
)
def test_a_word_that_a_lines_end_cut_is_whole(broken: str, whole: str) -> None:
    assert whole_words(broken) == whole


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


def blocks_of(data: bytes) -> list[str]:
    """The text of the first page, block by block."""
    page = read(data).pages[0]
    return [page.text[block.start : block.end] for block in page.blocks]


def test_korean_words_apart_by_gaps_alone_are_read_apart_and_their_lines_as_one_paragraph() -> None:
    assert blocks_of(without_spaces(0.27)) == ["\n".join(LINES)]


@pytest.mark.parametrize(
    ("line", "letter_gap"), [("목차안내서", 0.3), ("이것은 \\textbf{\\jamoword{<args>}} 처럼 쓴다", 0.0)]
)
def test_a_letter_spaced_title_is_one_word_and_code_between_words_keeps_its_characters(
    line: str, letter_gap: float
) -> None:
    assert blocks_of(without_spaces(0.27, (line,), letter_gap)) == [line]
