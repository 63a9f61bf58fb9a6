"""The text of a PDF's pages, as the step `pdf-text` derives it and the document is built from it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from kb.domain.media_citations import Box

# The note of a PDF that MuPDF had to put in order; every other note is about a page that cannot be read.
REPAIRED_NOTE = "the PDF is damaged; it was repaired while it was read"

PageBlockKind = Literal["heading", "paragraph", "table", "furniture"]


class PageBlock(NamedTuple):
    """The characters `start`..`end` (exclusive) of a page's text, and the box around them in points.

    `level` is a heading's, from 1; 0 for the others. Furniture is what repeats from page to page: running heads, page
    numbers.
    """

    kind: PageBlockKind
    level: int
    start: int
    end: int
    box: Box


@dataclass(frozen=True, slots=True)
class PdfPage:
    """One page. `text` is its blocks in reading order, an empty line between two, furniture first and last.

    Not `usable` is a page whose text layer is missing or rubbish, while there is something to see on it.
    """

    text: str
    blocks: tuple[PageBlock, ...]
    width: int
    height: int
    label: str | None = None
    usable: bool = True


class OutlineEntry(NamedTuple):
    """A line of the PDF's own table of contents; `page` counts from 1."""

    level: int
    title: str
    page: int


@dataclass(frozen=True, slots=True)
class PdfText:
    """All pages, the outline where there is one, and what the PDF says of itself."""

    pages: tuple[PdfPage, ...]
    outline: tuple[OutlineEntry, ...] = ()
    title: str = ""
    author: str = ""
    created_at: str | None = None
    updated_at: str | None = None
    notes: tuple[str, ...] = ()

    def to_json(self) -> bytes:
        """The form that is cached and kept as `pdf-text.json`."""
        value = {
            "title": self.title,
            "author": self.author,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
            "notes": self.notes,
            "outline": self.outline,
            "pages": [
                {
                    "label": page.label,
                    "width": page.width,
                    "height": page.height,
                    "usable": page.usable,
                    "text": page.text,
                    "blocks": page.blocks,
                }
                for page in self.pages
            ],
        }
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def read_pdf_text(data: bytes) -> PdfText:
    """`PdfText.to_json`, read back."""
    value = json.loads(data)
    return PdfText(
        pages=tuple(_page(page) for page in value["pages"]),
        outline=tuple(OutlineEntry(*entry) for entry in value["outline"]),
        title=value["title"],
        author=value["author"],
        created_at=value["created_at"],
        updated_at=value["updated_at"],
        notes=tuple(value["notes"]),
    )


def unusable_pages(data: bytes) -> list[int]:
    """The pages (from 1) of a `pdf-text.json` that only OCR can read."""
    return [number for number, page in enumerate(json.loads(data)["pages"], 1) if not page["usable"]]


def _page(value: dict[str, Any]) -> PdfPage:
    blocks = tuple(PageBlock(kind, level, start, end, Box(*box)) for kind, level, start, end, box in value["blocks"])
    return PdfPage(value["text"], blocks, value["width"], value["height"], value["label"], value["usable"])
