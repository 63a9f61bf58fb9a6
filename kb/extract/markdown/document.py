"""Markdown file to document: bytes in, blocks with exact line spans and the file's own text out.

    decode → frontmatter → blocks → title, tags, language → Document

No markup makes this fail: what the parser cannot take is kept as paragraphs by line, with a warning. Only a file of
more blocks than memory should hold is refused.
"""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from pathlib import PurePosixPath

from kb.domain.documents import Block, Code, Document, Heading, Metadata, Warning
from kb.domain.ids import AssetId, DocumentId, document_id
from kb.domain.paths import WorkspacePath
from kb.domain.spans import LineSpan
from kb.extract.decode import decode
from kb.extract.markdown.blocks import MAX_LINE_CHARS, BlockBuilder
from kb.extract.markdown.frontmatter import Frontmatter, read_frontmatter
from kb.extract.markdown.pieces import add_blocks
from kb.language.detect import SAMPLE_CHARS, detect_language

# Bumped whenever the same file would give other blocks, spans, payloads or metadata.
PARSER_VERSION = "markdown-it-4-v6"


def extract_markdown(data: bytes, *, workspace_path: WorkspacePath, asset_id: AssetId) -> Document:
    """The document that the bytes of one Markdown file hold.

    Raises: FileTooLarge.
    """
    decoded = decode(data)
    source_text = decoded.text
    front = read_frontmatter(source_text)
    lines = source_text.split("\n")
    doc_id = document_id(workspace_path, asset_id, PARSER_VERSION)
    body = _read_body(doc_id, lines, front)
    body_start = sum(len(line) + 1 for line in lines[: front.line_count])
    return Document(
        doc_id=doc_id,
        asset_id=asset_id,
        workspace_path=workspace_path,
        title=front.title or _main_heading(body.blocks) or PurePosixPath(workspace_path).stem,
        lang=front.lang or detect_language(source_text[body_start : body_start + SAMPLE_CHARS]),
        source_text=source_text,
        blocks=tuple(body.blocks),
        metadata=_with_tags(front.metadata, body.tags),
        parser_version=PARSER_VERSION,
        warnings=(*decoded.warnings, *front.warnings, *body.warnings),
    )


def _read_body(doc_id: DocumentId, lines: list[str], front: Frontmatter) -> BlockBuilder:
    builder = BlockBuilder(doc_id)
    body, first_line = lines[front.line_count :], front.line_count + 1
    has_body = any(line.strip() for line in body)
    if front.line_count and (front.malformed or not has_body):
        # Read as text, so that the words in it can be found.
        builder.add("code", Code("yaml", "\n".join(lines[1 : front.line_count - 1])), LineSpan(1, front.line_count))
    elif not has_body:
        builder.warnings.append(Warning("empty_file", "no text"))
    builder.warnings.extend(
        Warning(
            "markup_not_read",
            f"line {number}: {len(line):,} characters; its markup is read in the first {MAX_LINE_CHARS:,}, "
            "its text is indexed whole",
        )
        for number, line in enumerate(body, first_line)
        if len(line) > MAX_LINE_CHARS
    )
    add_blocks(builder, body, first_line)
    if has_body and not builder.blocks:
        builder.add_paragraphs(body, first_line)
    return builder


def _main_heading(blocks: list[Block]) -> str | None:
    """The first level-1 heading; deeper ones are parts of a note that is called by its file's name."""
    headings = (block.payload for block in blocks if isinstance(block.payload, Heading))
    return next((heading.text for heading in headings if heading.level == 1 and heading.text), None)


def _with_tags(metadata: Metadata, inline_tags: list[str]) -> Metadata:
    """`metadata` with the tags of the text after its own, each once, in NFC."""
    tags = (unicodedata.normalize("NFC", tag).strip("/") for tag in (*metadata.tags, *inline_tags))
    return replace(metadata, tags=tuple(dict.fromkeys(tags)))
