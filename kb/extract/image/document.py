"""Image to document: the lines that were recognised and what a model says it shows → blocks with their regions.

ocr.json, caption.json → paragraphs, each with its rectangle → Document

A paragraph of a single picture is cited by its region, one of a TIFF of several by its page.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import groupby

from kb.domain.derived import NOT_DERIVED, Derived, DerivedName, ModelCaption, OcrText, labelled_version
from kb.domain.documents import Document, Metadata, Text, Warning
from kb.domain.ids import AssetId
from kb.domain.media_citations import Box
from kb.domain.paths import WorkspacePath
from kb.domain.spans import CaptionSpan, PageSpan, RegionSpan
from kb.extract.numbered_blocks import DerivedBlocks
from kb.extract.ocr.recognised_pages import read_whole_words

# Bumped whenever the same lines would give other blocks, spans or metadata.
PARSER_VERSION = "image-v2"


def assemble_image(
    derived: Mapping[DerivedName, Derived], *, workspace_path: WorkspacePath, asset_id: AssetId
) -> Document:
    """The document of an image, of what was derived from it."""
    ocr, described = derived.get("ocr"), derived.get("caption")
    labels: dict[DerivedName, str] = {
        "ocr": ocr.engine.label if ocr else NOT_DERIVED,
        "caption": described.engine.label if described else NOT_DERIVED,
    }
    numbered = DerivedBlocks(workspace_path, asset_id, labelled_version(PARSER_VERSION, labels))
    pages = list(read_whole_words(ocr.data).values()) if ocr else []
    for number, page in enumerate(pages, 1):
        for text, box, start in _paragraphs(page):
            end = start + len(text)
            span = PageSpan(number, start, end, box) if len(pages) > 1 else RegionSpan(box, start, end)
            numbered.add("paragraph", Text(text), span)
    source_text = "\f".join(page.joined for page in pages)
    if described:
        caption = ModelCaption.from_json(json.loads(described.data))
        if caption.text and len(pages) < 2:  # pages are cited by number, a caption by its model
            start = len(source_text) + 2 if source_text else 0
            source_text = "\n\n".join(text for text in (source_text, caption.text) if text)
            numbered.add("paragraph", Text(caption.text), CaptionSpan(caption.model, start, len(source_text)))
    nothing = () if numbered.blocks else (Warning("empty_file", "no text in the image"),)
    return numbered.document(source_text, Metadata(source_type="reference"), nothing)


def _paragraphs(page: OcrText) -> Iterator[tuple[str, Box, int]]:
    """The paragraphs of a page as they are in its joined text: the text, the box around it, where it starts."""
    at = 0
    for _, lines in groupby(page.regions, key=lambda line: line.block):
        first, *others = lines
        text, box = first.text, first.box
        for line in others:
            text, box = f"{text}\n{line.text}", box.joined(line.box)
        yield text, box, at
        at += len(text) + 2
