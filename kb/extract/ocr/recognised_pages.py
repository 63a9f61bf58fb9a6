"""The recognised pages of a PDF, or pictures of an image file: kept as JSON, the result `ocr` of either."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from kb.domain.derived import OcrText
from kb.language.pages import whole_across


def page_ocr_json(pages: Mapping[int, OcrText]) -> bytes:
    """The recognised pages, by their numbers from 1, as `ocr.json` holds them."""
    value = {"pages": [{"page": number, **text.to_json()} for number, text in sorted(pages.items())]}
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def read_page_ocr(data: bytes) -> dict[int, OcrText]:
    """`page_ocr_json`, read back."""
    return {page["page"]: OcrText.from_json(page) for page in json.loads(data)["pages"]}


def read_whole_words(data: bytes) -> dict[int, OcrText]:
    """`page_ocr_json`, read back as text: words that a line's or a column's end cut stand whole where they begin.

    A line that was no more than the rest of a word is gone.
    """
    return {number: _with_whole_words(page) for number, page in read_page_ocr(data).items()}


def _with_whole_words(page: OcrText) -> OcrText:
    texts = whole_across([line.text for line in page.regions])
    lines = (replace(line, text=text) for line, text in zip(page.regions, texts, strict=True) if text)
    return replace(page, regions=tuple(lines))
