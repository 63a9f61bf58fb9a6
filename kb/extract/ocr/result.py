"""The recognised pages of a PDF or pictures of an image file as JSON: the result `ocr`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby

from kb.domain.citations import Box
from kb.domain.derived import OcrRegion, OcrText, result_json
from kb.language.pages import whole_across


def page_ocr_json(pages: Mapping[int, OcrText]) -> bytes:
    """The recognised pages, by their numbers from 1, in the form of `ocr.json`."""
    value = {"pages": [{"page": number, **text.to_json()} for number, text in sorted(pages.items())]}
    return result_json(value)


def read_page_ocr(data: bytes) -> dict[int, OcrText]:
    """Reads back what `page_ocr_json` wrote."""
    return {page["page"]: OcrText.from_json(page) for page in json.loads(data)["pages"]}


def read_whole_words(data: bytes) -> dict[int, OcrText]:
    """Reads back what `page_ocr_json` wrote, with words joined that are broken at the end of a line or column.

    The whole word is put where it begins. A line that had only the rest of a word is dropped.
    """
    return {number: _with_whole_words(page) for number, page in read_page_ocr(data).items()}


def _with_whole_words(page: OcrText) -> OcrText:
    texts = whole_across([line.text for line in page.regions])
    lines = (replace(line, text=text) for line, text in zip(page.regions, texts, strict=True) if text)
    return replace(page, regions=tuple(lines))


def page_paragraphs(regions: Iterable[OcrRegion]) -> Iterator[tuple[str, Box, int]]:
    """The paragraphs of a page: the text, the box around it, and its start in the page's joined text."""
    at = 0
    for _, lines in groupby(regions, key=lambda line: line.block):
        first, *others = lines
        text, box = first.text, first.box
        for line in others:
            text, box = f"{text}\n{line.text}", box.joined(line.box)
        yield text, box, at
        at += len(text) + 2
