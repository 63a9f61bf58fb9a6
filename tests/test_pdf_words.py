"""The words of a page and their places, for text above its picture: turned, upright, without spaces, recognised."""

from __future__ import annotations

import json

import pytest

from kb.domain.citations import Box
from kb.domain.derived import ExtractSettings, OcrRegion, OcrText, StepJob
from kb.domain.kinds import MediaType
from kb.domain.results.viewing import PageWords, PlacedWord, TextLine
from kb.errors import ExtractFailed
from kb.extract.pdf import words

pymupdf = pytest.importorskip("pymupdf")


def words_of(data: bytes, page: int = 1) -> PageWords:
    job = StepJob(data, MediaType("pdf"), {"page-words": json.dumps(page).encode()}, ExtractSettings(), lambda _: None)
    return PageWords.from_json(words.derive(job))


def written(*texts: tuple[float, float, str, int], rotation: int = 0) -> bytes:
    """A page of 300 × 400 points with texts of 10 points at (x, y), each turned anticlockwise."""
    pdf = pymupdf.open()
    page = pdf.new_page(width=300, height=400)
    for x, y, text, turn in texts:
        page.insert_text((x, y), text, fontsize=10, rotate=turn)
    page.set_rotation(rotation)
    return bytes(pdf.tobytes())


def test_a_level_line() -> None:
    found = words_of(written((20, 50, "A grey heron", 0)))
    (line,) = found.lines
    assert (found.width, found.height, line.turn) == (300, 400, 0)
    assert (line.x, line.y, line.height) == pytest.approx((20, 42, 10), abs=1)
    assert [word.text for word in line.words] == ["A", "grey", "heron"]
    assert sum(word.width + word.gap for word in line.words) == pytest.approx(line.width, abs=0.1)
    assert line.words[0].gap == pytest.approx(2.8, abs=0.3)
    assert line.words[-1].gap == 0


@pytest.mark.parametrize(
    ("written_turn", "rotation", "turn", "corner"),
    [
        (90, 0, 270, (42, 300)),  # upwards, as at the margin of a preprint
        (270, 0, 90, (58, 300)),
        (0, 90, 90, (108, 50)),  # the page turned clockwise
        (270, 90, 180, (100, 58)),
        (90, 90, 0, (100, 42)),
    ],
)
def test_a_line_that_is_turned_starts_where_its_first_word_does(
    written_turn: int, rotation: int, turn: int, corner: tuple[float, float]
) -> None:
    found = words_of(written((50, 300, "Grey heron", written_turn), rotation=rotation))
    (line,) = found.lines
    assert (found.width, found.height) == ((400, 300) if rotation else (300, 400))
    assert line.turn == turn
    assert (line.x, line.y) == pytest.approx(corner, abs=2)
    assert line.height == pytest.approx(10, abs=1)
    assert [word.text for word in line.words] == ["Grey", "heron"]
    assert 45 < line.width < 60


def test_a_line_is_as_wide_as_its_paragraph() -> None:
    found = words_of(written((20, 50, "The longest line of the paragraph", 0), (20, 62, "and a short", 0)))
    first, second = found.lines
    assert first.width == pytest.approx(second.width)


def test_a_page_that_is_not_there() -> None:
    with pytest.raises(ExtractFailed, match="no page 2"):
        words_of(written((20, 50, "one", 0)), 2)


def test_what_ocr_read_is_placed_by_lines() -> None:
    region = OcrRegion(Box(100, 200, 400, 40), "하천 관측소", 0.9, 0)
    found = words.recognised_words(3, 300, 400, OcrText((region,), 600, 800, "tesseract", "5"))
    assert found == PageWords(3, 300, 400, (TextLine(50, 100, 200, 20, 0, (PlacedWord("하천 관측소", 200),)),))
