"""Pictures in files that are cited by lines: web pages and notebooks. What is read of them is behind the lines.

bytes → found pictures → the steps `parts`, without any text, and `ocr` → `page.html#picture=2`, `#cell=3&picture=1`
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kb.domain.derived import NOT_DERIVED, Derived, DerivedName, Inside, labelled_version
from kb.domain.documents import Text
from kb.domain.ids import Json
from kb.domain.spans import PartSpan
from kb.domain.text import counted
from kb.extract.document_builder import DocumentBuilder
from kb.extract.parts import FoundPicture, Parts, PictureText, read_parts, read_picture_texts, unread_pictures
from kb.extract.pictures import worth_reading

_BEHIND = "\n\n"


class LinedPictures(NamedTuple):
    """The pictures of a file that is cited by lines, and what was read of them; `ocr` is None if nothing was."""

    listed: Parts
    ocr: Derived | None = None

    @staticmethod
    def of(found: Sequence[FoundPicture], data: bytes, derived: Mapping[DerivedName, Derived]) -> LinedPictures:
        """The pictures found in a file, or those that its step has listed."""
        if "parts" in derived:
            return LinedPictures(read_parts(derived["parts"].data), derived.get("ocr"))
        return LinedPictures(worth_reading(Parts((), found=tuple(found)), Inside.of(data)))

    def version(self, base: str) -> str:
        """The parser version of the document: the base, with the engine if there are pictures."""
        label = NOT_DERIVED if self.ocr is None else self.ocr.engine.label
        return labelled_version(base, {"ocr": label}) if self.listed.pictures else base

    @property
    def user(self) -> dict[str, Json]:
        """The number of pictures, as a property of the document; empty for none."""
        return {"pictures": len(self.listed.pictures)} if self.listed.pictures else {}

    def add_behind(self, lines: str, builder: DocumentBuilder) -> str:
        """Adds a block for each paragraph of each picture; returns the text of the document: the lines, then these."""
        texts: dict[str, PictureText] = {} if self.ocr is None else read_picture_texts(self.ocr.data)
        for note in (*self.listed.notes, *unread_pictures(texts)):
            builder.warn("read_in_part", note)
        if self.listed.pictures and self.ocr is None:
            builder.warn("no_text", f"{counted(len(self.listed.pictures), 'picture')} in it: OCR reads them")
        read = self.listed.with_texts(texts)
        text, ranges = read.laid_out
        start = len(lines) + len(_BEHIND)
        for part, places in zip(read.parts, ranges, strict=True):
            whole = start + places[0][0], start + places[-1][1]
            for block, (first, end) in zip(part.blocks, places, strict=True):
                builder.add("paragraph", Text(block.text), PartSpan(part.name, start + first, start + end, *whole), ())
        return lines + _BEHIND + text if text else lines
