"""Citations: written as a URI, read back, made around spans, and the text that a citation points to."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.domain.citations import (
    Box,
    CaptionCitation,
    Citation,
    LineCitation,
    PageCitation,
    RegionCitation,
    TimeCitation,
    cite,
    parse_citation,
    plain_citation,
)
from kb.domain.derived import DerivedName, ModelCaption, OcrRegion, OcrText, Transcript, TranscriptSegment
from kb.domain.spans import CaptionSpan, LineSpan, PageSpan, RegionSpan, SourceSpan, TimeSpan
from kb.errors import InvalidCitation
from kb.extract.cited_text import cited_text
from kb.extract.ocr.result import page_ocr_json
from kb.extract.pdf.pages import PageBlock, PdfPage, PdfText

paths = st.text(st.characters(exclude_categories=["Cs"]), min_size=1) | st.sampled_from(
    ["notes/a.md", "meeting #2.md", "a b/c d.md", "회의/3월 #1.md", "odd#L3-L4/x.md", "#.md", "a.md#"]
)


@given(paths, st.integers(1, 10**9), st.integers(0, 10**6))
def test_what_is_written_reads_back(path: str, start: int, more: int) -> None:
    citation = LineCitation(path, start, start + more)
    assert parse_citation(citation.to_uri()) == citation


@pytest.mark.parametrize(("uri", "start", "end"), [("a.md#L12-L34", 12, 34), ("a.md#L7", 7, 7), ("a.md#L7-L7", 7, 7)])
def test_lines(uri: str, start: int, end: int) -> None:
    assert parse_citation(uri) == LineCitation("a.md", start, end)


@given(paths, st.integers(1, 10**6))
def test_pages_read_back(path: str, page: int) -> None:
    assert parse_citation(PageCitation(path, page).to_uri()) == PageCitation(path, page)


@given(paths, st.tuples(*[st.integers(0, 10**6)] * 2), st.tuples(*[st.integers(1, 10**6)] * 2))
def test_regions_read_back(path: str, at: tuple[int, int], size: tuple[int, int]) -> None:
    citation = RegionCitation(path, *at, *size)
    assert parse_citation(citation.to_uri()) == citation


@given(paths, st.integers(0, 10**9), st.integers(0, 10**7))
def test_times_read_back_to_the_millisecond(path: str, start_ms: int, more_ms: int) -> None:
    citation = TimeCitation(path, start_ms, start_ms + more_ms)
    assert parse_citation(citation.to_uri()) == citation


@given(paths, st.sampled_from(["qwen2.5-vl:7b", "org/model:tag"]))
def test_captions_read_back(path: str, model: str) -> None:
    assert parse_citation(CaptionCitation(path, model).to_uri()) == CaptionCitation(path, model)


@pytest.mark.parametrize(
    ("citation", "uri"),
    [
        (PageCitation("a.pdf", 13, "Intro", "xi", ((1, 2, 3, 4),)), "a.pdf#page=13"),
        (RegionCitation("a.png", 120, 40, 520, 180), "a.png#xywh=120,40,520,180"),
        (TimeCitation("a.mp3", 822_000, 850_000, "S1"), "a.mp3#t=822,850"),
        (TimeCitation("a.mp3", 0, 1_050), "a.mp3#t=0,1.05"),
        (CaptionCitation("a.png", "qwen2.5-vl:7b"), "a.png#caption=qwen2.5-vl:7b"),
    ],
)
def test_how_a_citation_is_written(citation: Citation, uri: str) -> None:
    assert citation.to_uri() == uri


@pytest.mark.parametrize(
    ("spans", "cited"),
    [
        ([LineSpan(3, 5)], LineCitation("a", 3, 5, "S")),
        (
            [PageSpan(7, 0, 4, Box(1, 2, 3, 4), "v"), PageSpan(7, 5, 9, Box(1, 9, 3, 4), "v")],
            PageCitation("a", 7, "S", "v", ((1, 2, 3, 4), (1, 9, 3, 4))),
        ),
        ([PageSpan(7, 0, 4)], PageCitation("a", 7, "S")),
        ([RegionSpan(Box(10, 10, 5, 5), 0, 3), RegionSpan(Box(5, 20, 5, 5), 4, 6)], RegionCitation("a", 5, 10, 10, 15)),
        ([TimeSpan(0, 900, 0, 3, "A"), TimeSpan(900, 2_000, 4, 6, "B")], TimeCitation("a", 0, 2_000)),
        ([TimeSpan(5, 900, 0, 3, "A")], TimeCitation("a", 5, 900, "A")),
        ([CaptionSpan("m", 0, 3)], CaptionCitation("a", "m")),
    ],
)
def test_the_citation_around_spans(spans: list[SourceSpan], cited: Citation) -> None:
    assert cite("a", [span.to_json() for span in spans], "S") == cited


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "a.md",
        "#L1",
        "a.md#",
        "a.md#L0",
        "a.md#L01",
        "a.md#l3",
        "a.md#L3-L2",
        "a.md#L3-",
        "a.md#L3-4",
        "a.md#L1 ",
        "a.md#L-1",
        "a.md#L1-L2-L3",
        "a.pdf#page=0",
        "a.pdf#page=",
        "a.pdf#page=٣",
        "a.png#xywh=1,2,3",
        "a.png#xywh=1,2,0,4",
        "a.png#xywh=-1,2,3,4",
        "a.mp3#t=2,1",
        "a.mp3#t=1",
        "a.mp3#t=1.0001,2",
        "a.mp3#t=0:01,0:02",
        "a.png#caption=",
        "a.md#L１",
        "a.md#L1２",
        "a.md#L1-L2３",
        "a.md#L1\n",
    ],
)
def test_what_is_not_a_citation(uri: str) -> None:
    with pytest.raises(InvalidCitation) as caught:
        parse_citation(uri)
    assert "notes/a.md#L12-L34" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("typed", "plain"),
    [
        ("notes/a.md#L10-L20", "notes/a.md#L10-L20"),
        ("notes/a.md:10-20", "notes/a.md#L10-L20"),
        ("notes/a.md:10:5", "notes/a.md#L10"),
        ("notes/a.md#L10-20", "notes/a.md#L10-L20"),
        ("notes/a.md#10", "notes/a.md#L10"),
        ("notes/a.md#L10C3-L20C1", "notes/a.md#L10-L20"),
        ("notes/a.md, lines 10–20", "notes/a.md#L10-L20"),
        ("notes/a b.md (line 10)", "notes/a b.md#L10"),
        ("`notes/a.md#l10-l20`,", "notes/a.md#L10-L20"),
        ("[the notes](notes/a.md#L10)", "notes/a.md#L10"),
        ("[[a#Heading|shown]]", "a#Heading"),
        ("notes/a.md#L10:L20", "notes/a.md#L10-L20"),
        ("notes/a.md#L10, L20", "notes/a.md#L10-L20"),
        ("notes/a.md#L10..L20", "notes/a.md#L10-L20"),
        ("notes/a.md 10~20행", "notes/a.md#L10-L20"),
        ("notes/a.md [L10-L20]", "notes/a.md#L10-L20"),
        ("(notes/a.md#L10)", "notes/a.md#L10"),
        ("(a).md (line 3)", "(a).md#L3"),
        ("**notes/a.md#L10**", "notes/a.md#L10"),
        ("a.pdf, page 3", "a.pdf#page=3"),
        ("a.pdf p. 3", "a.pdf#page=3"),
        ("talk.mp3#t=822,850", "talk.mp3#t=822,850"),
        ("kb://doc/notes/a%20b.md", "notes/a b.md"),
        ("kb://citation/notes/a.md%23L3", "notes/a.md#L3"),
        ("kb://lines/10-20/notes/a.md", "notes/a.md#L10-L20"),
        ("kb://page/3/a.pdf", "a.pdf#page=3"),
        ("kb://time/1.5-2/a.mp3", "a.mp3#t=1.5,2"),
        ("kb://symbol/Foo.bar", "#symbol=Foo.bar"),
        ("kb://what/a", "kb://what/a"),
        ("notes/a.md#L1２", "notes/a.md#L1２"),
        ("2026-11-27 plan.md", "2026-11-27 plan.md"),
        ("", ""),
    ],
)
def test_a_citation_that_others_wrote(typed: str, plain: str) -> None:
    assert plain_citation(typed) == plain


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
