"""Pages and files that are inside another file → its parts: chapters of a book, bodies and attachments of a mail."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import cast

from kb.domain.citations import part_name
from kb.domain.derived import StepJob
from kb.domain.documents import Block, Document
from kb.domain.ids import AssetId
from kb.domain.kinds import family_of, media_type_of
from kb.domain.spans import CodeSpan, LineSpan
from kb.domain.text import WorkspacePath
from kb.errors import KbError
from kb.extract.hypertext import Hypertext
from kb.extract.office.flow import Flow
from kb.extract.office.package import expanded_bytes
from kb.extract.parts import FoundPicture, Part, PartBlock, PartBlockKind, Parts, ReadPicture
from kb.extract.pictures import PartsReader, inline_picture, picture_size
from kb.extract.registry import extractor_of

_MARK_CHARS = 6


def page_parts(page: Hypertext, picture_of: Callable[[str], ReadPicture | None] = lambda name: None) -> Parts:
    """The paragraphs, items and rows of a page, numbered, and its pictures; `picture_of` reads those outside of it."""
    flow = Flow(lambda name: inline_picture(name) or picture_of(name))
    pictures: dict[int, list[str]] = {}
    for picture in page.pictures:
        pictures.setdefault(picture.before, []).append(picture.address)
    for at, block in enumerate(page.blocks):
        flow.add_pictures(pictures.get(at, ()))
        if block.kind == "table":
            flow.add_table([block.headers, *block.rows] if block.headers else block.rows)
        elif block.kind == "list":
            for item in _items(line for piece in block.pieces for line in piece.text.split("\n")):
                flow.add("list", item)
        elif block.kind in ("heading", "code", "quote", "paragraph"):
            flow.add(block.kind, block.text, block.level)
    flow.add_pictures(pictures.get(len(page.blocks), ()))
    return Parts(flow.parts, found=tuple(flow.pictures))


def _items(lines: Iterable[str]) -> Iterator[str]:
    """The items of a list, each with its continuation lines."""
    item = ""
    for line in lines:
        is_new = line.lstrip()[:1] == "-" or line.lstrip()[:_MARK_CHARS].partition(".")[0].isdigit()
        if is_new and item:
            yield item
            item = ""
        item = f"{item} {line.strip()}" if item else line.rstrip()
    if item:
        yield item


def below(inner: Parts, over: tuple[str, ...] | None = None, **outer: str | int) -> Parts:
    """The parts and pictures with `outer` places in front of their names, `chapter=3&para=14`.

    Parts before the first heading get an empty heading path. If `over` is given, all are below these headings.
    """
    prefix, has_heading = part_name(**outer), False
    parts = []
    for part in inner.parts:
        has_heading = has_heading or any(block.level for block in part.blocks)
        path = part.path if has_heading or part.path is not None else ()
        parts.append(Part(f"{prefix}&{part.name}", part.blocks, path if over is None else (*over, *(path or ()))))
    pictures = [
        each._replace(
            part=f"{prefix}&{each.part}" if each.part else prefix,
            name=f"{prefix}&{each.name}",
            path=each.path if over is None else (*over, *(each.path or ())),
        )
        for each in inner.found
    ]
    return inner._replace(parts=tuple(parts), found=tuple(pictures))


def file_parts(name: str, data: bytes, job: StepJob) -> Parts | None:
    """The parts of a file inside the job's file; None for a kind that is not read inside others. Raises: KbError."""
    if picture_size(data) is not None:
        return Parts((), found=(FoundPicture("", name, lambda most_bytes: data[:most_bytes]),))
    media_type = media_type_of(name)
    if media_type is None:
        return None
    extractor = extractor_of(family_of(media_type))
    steps = extractor.steps
    if not extractor.needs_steps:
        inner = extractor.document(data, {}, workspace_path=WorkspacePath(name), asset_id=AssetId("0" * 32))
        return Parts(tuple(_paragraphs(inner)))
    if steps[0].name != "parts":
        return None
    inside = replace(job, data=data, media_type=media_type, earlier={})
    return cast(PartsReader, steps[0].load()).read(inside).kept


def _paragraphs(document: Document) -> Iterator[Part]:
    """The blocks of a document that is cited by lines, as numbered parts."""
    lines = document.source_text.split("\n")
    for number, block in enumerate(document.blocks, 1):
        text = _text_of(document, block, lines).strip()
        kind: PartBlockKind = block.kind if block.kind in ("heading", "list", "table", "code", "quote") else "paragraph"
        if text:
            blocks = (PartBlock("paragraph" if kind == "heading" else kind, text),)
            yield Part(part_name(para=number), blocks, block.heading_path)


def _text_of(document: Document, block: Block, lines: list[str]) -> str:
    span = block.span
    if isinstance(span, LineSpan):
        if span.char_start is not None:
            return document.source_text[span.char_start : span.char_end]
        return "\n".join(lines[span.start - 1 : span.end])
    assert isinstance(span, CodeSpan)
    return "\n".join(lines[span.line_start - 1 : span.line_end])


def read_inside(name: str, data: bytes, job: StepJob) -> tuple[Parts | None, str]:
    """The parts of a file inside the job's file, None if it has none, and why it cannot be read, else "".

    The limit on the size to which all inner files together expand is checked before one is opened: hundreds of files,
    each within the limit of one file, would take hours.
    """
    try:
        job.inside.left_bytes -= expanded_bytes(data)
        if job.inside.left_bytes < 0:
            return None, "what is inside the file expands to too much"
        return file_parts(name, data, job), ""
    except KbError as error:
        return None, error.message
    except RecursionError:
        return None, "it is inside too many other files"
