"""What stands where a citation points: lines of the file, a page's text, the words of a region, speech of a time."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kb.domain.citations import Box, CaptionCitation, Citation, LineCitation, PageCitation, RegionCitation, TimeCitation
from kb.domain.derived import DerivedName, ModelCaption, OcrRegion, OcrText, Transcript, TranscriptSegment
from kb.extract.cited_text import cited_text
from kb.extract.ocr.recognised_pages import page_ocr_json
from kb.extract.pdf.pages import PageBlock, PdfPage, PdfText

LINES = (OcrRegion(Box(0, 0, 100, 10), "first line", 0.9, 0), OcrRegion(Box(0, 20, 100, 10), "둘째 줄", 0.8, 0))
OCR = OcrText(LINES, 200, 100, "reader", "1")
SEGMENTS = (TranscriptSegment(0, 2_000, "One."), TranscriptSegment(2_000, 4_500, " Two. "))
PAGES = PdfText(
    pages=(PdfPage(None, 595, 842, True, "head\n\nbody", (PageBlock("furniture", 0, 0, 4, Box(0, 0, 9, 9)),)),)
)
DERIVED: dict[DerivedName, bytes] = {
    "pdf-text": PAGES.to_json(),
    "ocr": page_ocr_json({1: OCR}),
    "caption": json.dumps(ModelCaption("A cat.", "m", "1").to_json()).encode(),
    "transcript": json.dumps(Transcript(SEGMENTS, 4_500, "en", "w", "1").to_json()).encode(),
}


@pytest.mark.parametrize(
    ("citation", "text"),
    [
        (LineCitation("a", 2, 3), "b\nc"),
        (LineCitation("a", 2, 9), None),
        (RegionCitation("a", 0, 0, 100, 12), "first line"),
        (RegionCitation("a", 0, 0, 200, 100), "first line\n둘째 줄"),
        (RegionCitation("a", 150, 50, 10, 10), ""),
        (TimeCitation("a", 0, 2_000), "One."),
        (TimeCitation("a", 1_999, 4_500), "One. Two."),
        (CaptionCitation("a", "m"), "A cat."),
    ],
)
def test_the_text_at_a_place(citation: Citation, text: str | None) -> None:
    assert cited_text(citation, b"a\nb\nc", DERIVED) == text


def test_a_page_has_its_running_head_and_what_ocr_read() -> None:
    only: dict[DerivedName, bytes] = {"pdf-text": PAGES.to_json()}
    assert cited_text(PageCitation("a", 1), b"", only) == "head\n\nbody"
    assert cited_text(PageCitation("a", 2), b"", only) is None
    assert cited_text(PageCitation("a", 1), b"", {**only, "ocr": page_ocr_json({1: OCR})}) == "first line\n둘째 줄"


def test_a_region_and_a_page_show_the_words_that_were_indexed() -> None:
    cut = (replace(LINES[0], text="of the decla-"), replace(LINES[1], text="ration of rights", block=1))
    derived: dict[DerivedName, bytes] = {"ocr": page_ocr_json({1: replace(OCR, regions=cut)})}
    assert cited_text(RegionCitation("a", 0, 0, 100, 12), b"", derived) == "of the declaration"
    assert cited_text(RegionCitation("a", 0, 18, 100, 14), b"", derived) == "of rights"
    assert cited_text(PageCitation("a", 1), b"", derived) == "of the declaration\n\nof rights"


def test_what_was_not_derived_is_nowhere() -> None:
    for citation in (PageCitation("a", 1), RegionCitation("a", 0, 0, 1, 1), TimeCitation("a", 0, 1)):
        assert cited_text(citation, b"", {}) is None
