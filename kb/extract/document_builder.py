"""Builds a document from an extractor's blocks, numbered and placed below their headings, and its warnings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from kb.domain.documents import Block, BlockKind, Document, Heading, Metadata, Payload, Warning, WarningKind
from kb.domain.ids import AssetId, block_id, document_id
from kb.domain.spans import SourceSpan
from kb.domain.symbols import Symbol, SymbolUse
from kb.domain.text import WorkspacePath
from kb.errors import FileTooLarge
from kb.language.detect import SAMPLE_CHARS, detect_language

# A stored block takes about a kilobyte while its document is built.
MOST_BLOCKS = 200_000
# Each passage holds the headings over it, and each hit the title of its document.
MOST_HEADING_CHARS = 20_000


class DocumentBuilder:
    """Collects the blocks and warnings of one file. A block goes below the headings that were added before it."""

    def __init__(self, workspace_path: WorkspacePath, asset_id: AssetId, parser_version: str) -> None:
        self.blocks: list[Block] = []
        self.warnings: list[Warning] = []
        self.name = PurePosixPath(workspace_path)
        self._doc_id = document_id(workspace_path, asset_id, parser_version)
        self._identity = (workspace_path, asset_id, parser_version)
        self._headings: list[tuple[int, str]] = []

    def add(self, kind: BlockKind, payload: Payload, span: SourceSpan, path: tuple[str, ...] | None = None) -> None:
        """Appends a block below the headings added so far, or at `path` if it is given. Raises: FileTooLarge."""
        if len(self.blocks) == MOST_BLOCKS:
            raise FileTooLarge(
                f"the file has more than {MOST_BLOCKS:,} headings, paragraphs and lists, the most kb reads of one file",
                "split it, or list it in .kbignore",
            )
        if isinstance(payload, Heading):
            self._headings = [each for each in self._headings if each[0] < payload.level]
            payload = replace(payload, text=payload.text[:MOST_HEADING_CHARS])
        above = (text for _, text in self._headings) if path is None else (text[:MOST_HEADING_CHARS] for text in path)
        path = tuple(above)
        ordinal = len(self.blocks)
        identity = block_id(self._doc_id, kind, path, ordinal, span.to_json())
        self.blocks.append(Block(identity, kind, path, ordinal, span, payload))
        if isinstance(payload, Heading) and payload.text:
            self._headings.append((payload.level, payload.text))

    def warn(self, kind: WarningKind, note: str) -> None:
        """Appends a warning."""
        self.warnings.append(Warning(kind, note))

    def document(
        self,
        source_text: str,
        metadata: Metadata,
        *,
        title: str | None = None,
        lang: str | None = None,
        symbols: tuple[Symbol, ...] = (),
        references: tuple[SymbolUse, ...] = (),
    ) -> Document:
        """The document. `title` defaults to the file's name, `lang` to the language detected from the text."""
        workspace_path, asset_id, parser_version = self._identity
        return Document(
            doc_id=self._doc_id,
            asset_id=asset_id,
            workspace_path=workspace_path,
            title=(title or self.name.stem)[:MOST_HEADING_CHARS],
            lang=lang or detect_language(source_text[:SAMPLE_CHARS]),
            source_text=source_text,
            blocks=tuple(self.blocks),
            metadata=metadata,
            parser_version=parser_version,
            warnings=tuple(self.warnings),
            symbols=symbols,
            references=references,
        )


def written_lines(lines: Sequence[str], start: int, end: int) -> tuple[int, int]:
    """The half-open range `start`..`end` of lines, from 0, without blank lines at its ends; empty if all are blank."""
    while end > start and not lines[end - 1].strip():
        end -= 1
    while start < end and not lines[start].strip():
        start += 1
    return start, end


def paragraphs(lines: Sequence[str], start: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
    """The half-open range of each run of non-blank lines among `start`..`end`, from 0."""
    first = None
    stop = len(lines) if end is None else end
    for at in range(start, stop + 1):
        if at < stop and lines[at].strip():
            first = at if first is None else first
        elif first is not None:
            yield first, at
            first = None
