"""The text of a file in parts, as `parts.json`: paragraphs, slides, rows, entries; and the document made of it.

    a format's reader, in a worker process → Parts → blocks, each in its part → Document

A reader names each part as its format does (`kb.domain.citations.part_name`), in reading order.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import chain, pairwise
from typing import Literal, NamedTuple

from kb.domain.citations import PartCitation, split_part
from kb.domain.derived import Derived, DerivedName, Engine, labelled_version
from kb.domain.documents import Document, Heading, Metadata, Payload, Text
from kb.domain.ids import AssetId, Json
from kb.domain.spans import PartSpan
from kb.domain.text import Range, WorkspacePath, stored_text
from kb.extract.document_builder import DocumentBuilder
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


class Parts(NamedTuple):
    """All parts of a file that have text, and the file's metadata; `notes` say what was not read."""

    parts: tuple[Part, ...]
    title: str = ""
    author: str = ""
    created_at: str | None = None
    updated_at: str | None = None
    notes: tuple[str, ...] = ()
    user: Mapping[str, Json] = {}

    def to_json(self) -> bytes:
        """The parts as JSON, for the cache and `parts.json`; texts are in NFC, and empty blocks are left out."""
        value = self._asdict() | {"parts": [(name, _kept(blocks), path) for name, blocks, path in self.parts if blocks]}
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")

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


def distinct(name: str, taken: dict[str, int]) -> str:
    """The name, with a number appended if it was `taken`; counts it in `taken`."""
    free = name
    while free in taken:
        taken[name] += 1
        free = f"{name} ({taken[name]})"
    taken[free] = 1
    return free


def _kept(blocks: tuple[PartBlock, ...]) -> list[PartBlock]:
    return [block._replace(text=stored_text(block.text)) for block in blocks]


def read_parts(data: bytes) -> Parts:
    """Reads back what `Parts.to_json` wrote."""
    value = json.loads(data)
    parts = tuple(
        Part(name, tuple(PartBlock(*block) for block in blocks), None if path is None else tuple(path))
        for name, blocks, path in value.pop("parts")
    )
    return Parts(parts, **value | {"notes": tuple(value["notes"])})


def kb_engine(version: str) -> Engine:
    """The engine of a reader that is part of kb; its version is bumped when the same file would give other parts."""
    return Engine("kb", version)


def assemble_parts(
    derived: Mapping[DerivedName, Derived], *, workspace_path: WorkspacePath, asset_id: AssetId
) -> Document:
    """The document of a file in parts."""
    step = derived["parts"]
    read = read_parts(step.data)
    text, ranges = read.laid_out
    builder = DocumentBuilder(workspace_path, asset_id, labelled_version(PARSER_VERSION, {"parts": step.engine.label}))
    for part, places in zip(read.parts, ranges, strict=True):
        whole = places[0][0], places[-1][1]
        for block, place in zip(part.blocks, places, strict=True):
            builder.add(block.kind, _payload(block), PartSpan(part.name, *place, *whole), part.path)
    for note in read.notes:
        builder.warn("read_in_part", note)
    if not builder.blocks:
        builder.warn("empty_file", "no text")
    heading = next((block.payload.text for block in builder.blocks if isinstance(block.payload, Heading)), "")
    user = {**read.user, **({"author": read.author} if read.author else {})}
    metadata = Metadata(created_at=read.created_at, updated_at=read.updated_at, source_type="reference", user=user)
    return builder.document(text, metadata, title=read.title or heading)


def _payload(block: PartBlock) -> Payload:
    return Heading(block.level, " ".join(block.text.split())) if block.level else Text(block.text)
