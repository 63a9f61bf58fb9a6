"""Blocks as an extractor adds them, numbered and placed below the headings before them, and the document they make."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from kb.domain.documents import Block, BlockKind, Document, Heading, Metadata, Payload, Warning
from kb.domain.ids import AssetId, DocumentId, block_id, document_id
from kb.domain.paths import WorkspacePath
from kb.domain.spans import SourceSpan
from kb.errors import FileTooLarge
from kb.language.detect import SAMPLE_CHARS, detect_language

# A stored block takes about a kilobyte while its document is put together.
MOST_BLOCKS = 200_000


class NumberedBlocks:
    """Numbers blocks and keeps the path of headings above the next one."""

    def __init__(self, doc: DocumentId) -> None:
        self.doc = doc
        self.blocks: list[Block] = []
        self._headings: list[tuple[int, str]] = []

    def add(self, kind: BlockKind, payload: Payload, span: SourceSpan, place: tuple[str, ...] | None = None) -> None:
        """Append one block below the headings added so far, or at `place`. Raises: FileTooLarge."""
        if len(self.blocks) == MOST_BLOCKS:
            raise FileTooLarge(
                f"the file has more than {MOST_BLOCKS:,} headings, paragraphs and lists, the most kb reads of one file",
                "split it, or list it in .kbignore",
            )
        if isinstance(payload, Heading):
            self._headings = [above for above in self._headings if above[0] < payload.level]
        path = tuple(text for _, text in self._headings) if place is None else place
        ordinal = len(self.blocks)
        identity = block_id(self.doc, kind, path, ordinal, span.to_json())
        self.blocks.append(Block(identity, kind, path, ordinal, span, payload))
        if isinstance(payload, Heading) and payload.text:
            self._headings.append((payload.level, payload.text))


class DerivedBlocks(NumberedBlocks):
    """The blocks of a file that an engine read, and the document they make under that parser version."""

    def __init__(self, workspace_path: WorkspacePath, asset_id: AssetId, parser_version: str) -> None:
        super().__init__(document_id(workspace_path, asset_id, parser_version))
        self._workspace_path = workspace_path
        self._asset_id = asset_id
        self._parser_version = parser_version

    def document(
        self, source_text: str, metadata: Metadata, warnings: Iterable[Warning], *, title: str | None = None
    ) -> Document:
        """The document of the blocks added; it is called by its file's name where it has no title."""
        return Document(
            doc_id=self.doc,
            asset_id=self._asset_id,
            workspace_path=self._workspace_path,
            title=title or PurePosixPath(self._workspace_path).stem,
            lang=detect_language(source_text[:SAMPLE_CHARS]),
            source_text=source_text,
            blocks=tuple(self.blocks),
            metadata=metadata,
            parser_version=self._parser_version,
            warnings=tuple(warnings),
        )
