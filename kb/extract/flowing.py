"""Pages and files that are inside another file → its parts: chapters of a book, bodies and attachments of a mail."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from kb.domain.citations import part_name
from kb.domain.derived import Job
from kb.domain.documents import Block, Document
from kb.domain.ids import AssetId
from kb.domain.kinds import family_of, media_type_of
from kb.domain.spans import CodeSpan, LineSpan
from kb.domain.text import WorkspacePath
from kb.errors import KbError
from kb.extract.hypertext import Hypertext
from kb.extract.office.flow import Flow
from kb.extract.office.package import expanded_bytes
from kb.extract.parts import Part, PartBlock, PartBlockKind, read_parts
from kb.extract.registry import extractor_of

_MARK_CHARS = 6


def page_parts(page: Hypertext) -> tuple[Part, ...]:
    """The paragraphs, items and rows of a page, numbered."""
    flow = Flow()
    for block in page.blocks:
        if block.kind == "table":
            flow.add_table([block.headers, *block.rows] if block.headers else block.rows)
        elif block.kind == "list":
            for item in _items(line for piece in block.pieces for line in piece.text.split("\n")):
                flow.add("list", item)
        elif block.kind in ("heading", "code", "quote", "paragraph"):
            flow.add(block.kind, block.text, block.level)
    return flow.parts


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


def below(parts: Iterable[Part], **outer: str | int) -> Iterator[Part]:
    """The parts with `outer` places in front of their names, `chapter=3&para=14`.

    Parts before the first heading get an empty heading path.
    """
    prefix, has_heading = part_name(**outer), False
    for part in parts:
        has_heading = has_heading or any(block.level for block in part.blocks)
        yield Part(f"{prefix}&{part.name}", part.blocks, part.path if has_heading or part.path is not None else ())


def file_parts(name: str, data: bytes, job: Job) -> tuple[Part, ...] | None:
    """The parts of a file inside the job's file; None for a kind that is not read inside others. Raises: KbError."""
    media_type = media_type_of(name)
    if media_type is None:
        return None
    extractor = extractor_of(family_of(media_type))
    steps = extractor.steps
    if not steps:
        inner = extractor.document(data, {}, workspace_path=WorkspacePath(name), asset_id=AssetId("0" * 32))
        return tuple(_paragraphs(inner))
    if [step.name for step in steps] != ["parts"]:
        return None
    return read_parts(steps[0].load().derive(replace(job, data=data, media_type=media_type, earlier={}))).parts


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


def read_inside(name: str, data: bytes, job: Job) -> tuple[tuple[Part, ...] | None, str]:
    """The parts of a file inside the job's file, or None if it is not read, and the reason if the file is faulty.

    The size that all inner files say they expand to is limited before any of them is opened: hundreds of files, each
    within the limit of one file, would take hours.
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
