"""The pages that were recognised of a PDF, or the pictures of an image file: the result `ocr` of either, as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping

from kb.domain.ingest.derived import OcrText


def page_ocr_json(pages: Mapping[int, OcrText]) -> bytes:
    """The recognised pages, by their numbers from 1, as `ocr.json` holds them."""
    value = {"pages": [{"page": number, **text.to_json()} for number, text in sorted(pages.items())]}
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def read_page_ocr(data: bytes) -> dict[int, OcrText]:
    """`page_ocr_json`, read back."""
    return {page["page"]: OcrText.from_json(page) for page in json.loads(data)["pages"]}
