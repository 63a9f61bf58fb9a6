"""The text of a file in parts, as `parts.json`: paragraphs, slides, rows, entries; and the document made of it.

    a format's reader, in a worker process → Parts → blocks, each in its part → Document

A reader names each part as its format does (`kb.domain.citations.part_name`), in reading order, and gives the pictures
it finds. What is read of a picture (`kb.extract.pictures`) is a part of its own behind all others: `slide=3&picture=1`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, pairwise
from typing import Literal, NamedTuple, TypeAlias

from kb.domain.citations import PartCitation, part_name, split_part
from kb.domain.derived import NOT_DERIVED, Derived, DerivedName, Engine, Results, labelled_version, result_json
from kb.domain.documents import Document, Heading, Metadata, Payload, Text
from kb.domain.ids import AssetId, Json
from kb.domain.spans import PartSpan
from kb.domain.text import Range, WorkspacePath, counted, stored_text
from kb.extract.document_builder import DocumentBuilder
from kb.extract.ocr.result import page_paragraphs, read_whole_words
from kb.extract.registry import EXTRACTORS

# Bumped whenever the same parts would give other blocks, spans or metadata.
PARSER_VERSION = EXTRACTORS["document"].parser_version

PartBlockKind = Literal["heading", "paragraph", "list", "table", "code", "quote"]

# Blocks of one of these kinds follow each other line by line.
_LINED_UP: tuple[PartBlockKind, ...] = ("list", "table")


class PartBlock(NamedTuple):
    """A piece of a part. An item is one block of kind `list`, a row one of kind `table`; `level` is a heading's."""

    kind: PartBlockKind
    text: str
    level: int = 0


class Part(NamedTuple):
    """A part and its text. `path` are the headings above it, None if they follow from the blocks before it."""

    name: str
    blocks: tuple[PartBlock, ...]
    path: tuple[str, ...] | None = None


ReadPicture: TypeAlias = Callable[[int], bytes]
"""Gives the bytes of a picture inside a file, at most so many. Raises: KbError for a damaged one."""


class FoundPicture(NamedTuple):
    """A picture that a reader has found: the part it is in ("" is the file), its name in the file, and its bytes.

    `path` are the headings above it, None if they are those of its part.
    """

    part: str
    name: str
    read: ReadPicture
    path: tuple[str, ...] | None = None


class PartPicture(NamedTuple):
    """A picture that OCR reads: the part it is in, and the hash of its bytes, "" if OCR was switched off."""

    part: str
    content: str
    path: tuple[str, ...] | None = None


class Parts(NamedTuple):
    """All parts of a file that have text, and the file's metadata; `notes` say what was not read.

    `pictures` are those worth reading, of all that were `found`, which are not kept in JSON.
    """

    parts: tuple[Part, ...]
    title: str = ""
    author: str = ""
    created_at: str | None = None
    updated_at: str | None = None
    notes: tuple[str, ...] = ()
    user: Mapping[str, Json] = {}
    pictures: tuple[PartPicture, ...] = ()
    found: tuple[FoundPicture, ...] = ()

    @property
    def kept(self) -> Parts:
        """The parts as they are read back from JSON: texts in NFC, without empty blocks and parts."""
        return self._replace(
            parts=tuple(part._replace(blocks=_kept(part.blocks)) for part in self.parts if part.blocks)
        )

    def to_json(self) -> bytes:
        """The parts as JSON, for the cache and `parts.json`. Pictures come first, to be seen without parsing."""
        value = self.kept._asdict()
        del value["found"]
        pictures = value.pop("pictures")
        value = {"pictures": pictures} | value if pictures else value
        return result_json(value)

    def with_texts(self, texts: Mapping[str, PictureText]) -> Parts:
        """The parts, with those of the pictures behind them; `texts` are by the hashes of their contents."""
        over = dict(self._headings())
        counts: Counter[str] = Counter()
        read = []
        for part, content, path in self.pictures:
            counts[part] += 1
            name = part_name(picture=counts[part])
            if blocks := tuple(PartBlock("paragraph", text) for text in texts.get(content, PictureText()).paragraphs):
                path = over.get(part, ()) if path is None else path
                read.append(Part(f"{part}&{name}" if part else name, _kept(blocks), path))
        return self._replace(parts=(*self.parts, *read))

    def _headings(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The headings above or in each part."""
        over: list[PartBlock] = []
        for name, blocks, path in self.parts:
            for block in blocks:
                if block.level:
                    over = [*(each for each in over if each.level < block.level), block]
            yield name, tuple(" ".join(each.text.split()) for each in over) if path is None else path

    @property
    def laid_out(self) -> tuple[str, list[list[Range]]]:
        """The text of the file, and the range of each block of each part in it."""
        blocks = [*chain.from_iterable(part.blocks for part in self.parts)]
        between = ["\n" if a.kind == b.kind and a.kind in _LINED_UP else "\n\n" for a, b in pairwise(blocks)]
        ends = iter([*between, ""])
        ranges: list[list[Range]] = []
        written: list[str] = []
        at = 0
        for part in self.parts:
            ranges.append([])
            for block in part.blocks:
                end = next(ends)
                ranges[-1].append((at, at + len(block.text)))
                written += [block.text, end]
                at += len(block.text) + len(end)
        return "".join(written), ranges

    def text_of(self, name: str) -> str | None:
        """The text of a part, or of a range of parts; None if there is no part of that name."""
        found = self.around(PartCitation("", name))
        return None if found is None else found[1]

    def around(self, citation: PartCitation) -> tuple[str, str, str] | None:
        """The text of the file before, at and after the cited place; None if there is no such place."""
        shared, first, last = split_part(citation.part)
        names = [split_part(part.name) for part in self.parts]
        start = next((at for at, each in enumerate(names) if each[:2] == (shared, first)), len(names))
        end = next((at for at in range(start, len(names)) if (names[at][0], names[at][2]) == (shared, last)), None)
        if end is None:
            return None
        text, ranges = self.laid_out
        first_char, last_char = ranges[start][0][0], ranges[end][-1][1]
        if citation.char_end is not None:
            if first_char + citation.char_end > last_char:
                return None
            first_char, last_char = first_char + (citation.char_start or 0), first_char + citation.char_end
        return text[:first_char], text[first_char:last_char], text[last_char:]


class PictureText(NamedTuple):
    """What OCR read of a picture: its paragraphs; or why it could not be read."""

    paragraphs: tuple[str, ...] = ()
    failed: str = ""


def found_pictures(
    part: str, names: Iterable[str], picture_of: Callable[[str], ReadPicture | None]
) -> Iterator[FoundPicture]:
    """The pictures of these names in a part; names without a picture are left out."""
    for name in names:
        if (read := picture_of(name)) is not None:
            yield FoundPicture(part, name, read)


def distinct(name: str, taken: dict[str, int]) -> str:
    """The name, with a number appended if it was `taken`; counts it in `taken`."""
    free = name
    while free in taken:
        taken[name] += 1
        free = f"{name} ({taken[name]})"
    taken[free] = 1
    return free


def _kept(blocks: tuple[PartBlock, ...]) -> tuple[PartBlock, ...]:
    return tuple(block._replace(text=stored_text(block.text)) for block in blocks)


def has_pictures(parts_json: bytes) -> bool:
    """Whether what `Parts.to_json` wrote has pictures to read."""
    return parts_json.startswith(b'{"pictures":')


def whole_parts(derived: Results) -> Parts:
    """The parts of a file from its derived results, which has `parts`, those of its pictures included."""
    read = read_parts(derived["parts"])
    return read.with_texts(read_picture_texts(derived["ocr"])) if "ocr" in derived else read


def read_picture_texts(data: bytes) -> dict[str, PictureText]:
    """The texts of pictures by the hashes of their contents, from the result `ocr` of a file in parts."""
    texts = {}
    for content, value in json.loads(data)["pictures"].items():
        if "failed" in value:
            texts[content] = PictureText(failed=value["failed"])
        else:
            pages = read_whole_words(json.dumps(value).encode()).values()
            texts[content] = PictureText(tuple(text for page in pages for text, _, _ in page_paragraphs(page.regions)))
    return texts


def read_parts(data: bytes) -> Parts:
    """Reads back what `Parts.to_json` wrote."""
    value = json.loads(data)
    parts = tuple(
        Part(name, tuple(PartBlock(*block) for block in blocks), None if path is None else tuple(path))
        for name, blocks, path in value.pop("parts")
    )
    pictures = tuple(
        PartPicture(part, content, None if path is None else tuple(path))
        for part, content, path in value.pop("pictures", ())
    )
    return Parts(parts, **value | {"notes": tuple(value["notes"]), "pictures": pictures})


def kb_engine(version: str) -> Engine:
    """The engine of a reader that is part of kb; its version is bumped when the same file would give other parts."""
    return Engine("kb", version)


def assemble_parts(
    derived: Mapping[DerivedName, Derived], *, workspace_path: WorkspacePath, asset_id: AssetId
) -> Document:
    """The document of a file in parts."""
    step, ocr = derived["parts"], derived.get("ocr")
    read = read_parts(step.data)
    labels: dict[DerivedName, str] = {"parts": step.engine.label}
    texts = {} if ocr is None else read_picture_texts(ocr.data)
    if read.pictures:
        labels["ocr"] = NOT_DERIVED if ocr is None else ocr.engine.label
        read = read.with_texts(texts)
    text, ranges = read.laid_out
    builder = DocumentBuilder(workspace_path, asset_id, labelled_version(PARSER_VERSION, labels))
    for part, places in zip(read.parts, ranges, strict=True):
        whole = places[0][0], places[-1][1]
        for block, place in zip(part.blocks, places, strict=True):
            builder.add(block.kind, _payload(block), PartSpan(part.name, *place, *whole), part.path)
    for note in (*read.notes, *unread_pictures(texts)):
        builder.warn("read_in_part", note)
    if read.pictures and ocr is None:
        builder.warn("no_text", f"{counted(len(read.pictures), 'picture')} in it: OCR reads them")
    if not builder.blocks:
        builder.warn("empty_file", "no text")
    heading = next((block.payload.text for block in builder.blocks if isinstance(block.payload, Heading)), "")
    user = {**read.user, **({"author": read.author} if read.author else {})}
    user |= {"pictures": len(read.pictures)} if read.pictures else {}
    metadata = Metadata(created_at=read.created_at, updated_at=read.updated_at, source_type="reference", user=user)
    return builder.document(text, metadata, title=read.title or heading)


def unread_pictures(texts: Mapping[str, PictureText]) -> Iterator[str]:
    """The note on pictures that could not be read, with the first reason; none if all were."""
    if failed := [each.failed for each in texts.values() if each.failed]:
        yield f"{len(failed)} of {counted(len(texts), 'picture')} in it cannot be read: {failed[0]}"


def _payload(block: PartBlock) -> Payload:
    return Heading(block.level, " ".join(block.text.split())) if block.level else Text(block.text)
