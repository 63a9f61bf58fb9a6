"""The text at a citation: read from the file itself, or from the results that engines derived from it."""

from __future__ import annotations

import json
from collections.abc import Mapping

from kb.domain.citations import (
    Box,
    CaptionCitation,
    Citation,
    CodeCitation,
    LineCitation,
    PageCitation,
    PartCitation,
    RegionCitation,
    TimeCitation,
)
from kb.domain.derived import DerivedName, ModelCaption, Transcript

# A line belongs to a region when at least this share of it is inside.
_INSIDE_SHARE = 0.5


def cited_text(citation: Citation, source: bytes, derived: Mapping[DerivedName, bytes]) -> str | None:
    """The text at the cited place; None where there is no such place, or its derived result is missing.

    `source` is the file's content, used for lines alone; `derived` holds the results for the other kinds of places.
    """
    match citation:
        case LineCitation() | CodeCitation():
            return _lines(source, citation)
        case PageCitation():
            return _page(citation.page, derived)
        case RegionCitation():
            return _region(Box(citation.x, citation.y, citation.w, citation.h), derived)
        case TimeCitation():
            return _speech(citation, derived)
        case PartCitation():
            return _part(citation, derived)
        case CaptionCitation():
            return ModelCaption.from_json(json.loads(derived["caption"])).text if "caption" in derived else None


def _lines(source: bytes, citation: LineCitation | CodeCitation) -> str | None:
    from kb.extract.laid import line_text

    lines = line_text(source, citation.path).split("\n")
    return "\n".join(lines[citation.start - 1 : citation.end]) if citation.end <= len(lines) else None


def _page(number: int, derived: Mapping[DerivedName, bytes]) -> str | None:
    """The whole text of a page, running heads included; the text that OCR read, if any. None without such a page."""
    from kb.extract.ocr.result import read_whole_words
    from kb.extract.pdf.pages import read_pdf_text

    recognised = read_whole_words(derived["ocr"]) if "ocr" in derived else {}
    if number in recognised:
        return recognised[number].joined
    pages = read_pdf_text(derived["pdf-text"]).pages if "pdf-text" in derived else ()
    return pages[number - 1].text if number <= len(pages) else None


def _region(region: Box, derived: Mapping[DerivedName, bytes]) -> str | None:
    """The recognised lines in a region of a picture; only files with a single picture are cited by regions."""
    from kb.extract.ocr.result import read_whole_words

    if "ocr" not in derived:
        return None
    lines = [line for picture in read_whole_words(derived["ocr"]).values() for line in picture.regions]
    return "\n".join(line.text for line in lines if _share_inside(line.box, region) >= _INSIDE_SHARE)


def _share_inside(box: Box, region: Box) -> float:
    w = min(box.x + box.w, region.x + region.w) - max(box.x, region.x)
    h = min(box.y + box.h, region.y + region.h) - max(box.y, region.y)
    return w * h / (box.w * box.h or 1) if w > 0 and h > 0 else 0.0


def _part(citation: PartCitation, derived: Mapping[DerivedName, bytes]) -> str | None:
    from kb.extract.parts import whole_parts

    found = whole_parts(derived).around(citation) if "parts" in derived else None
    return None if found is None else found[1]


def _speech(citation: TimeCitation, derived: Mapping[DerivedName, bytes]) -> str | None:
    if "transcript" not in derived:
        return None
    segments = Transcript.from_json(json.loads(derived["transcript"])).segments
    return " ".join(
        segment.text.strip()
        for segment in segments
        if segment.start_ms < citation.end_ms and segment.end_ms > citation.start_ms
    )
