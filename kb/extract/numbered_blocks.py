"""Blocks as an extractor adds them: numbered, and placed below the headings before them."""

from __future__ import annotations

from kb.domain.documents import Block, BlockKind, Heading, Payload
from kb.domain.ids import DocumentId, block_id
from kb.domain.spans import SourceSpan


class NumberedBlocks:
    """Numbers blocks and keeps the path of headings above the next one."""

    def __init__(self, doc: DocumentId) -> None:
        self.doc = doc
        self.blocks: list[Block] = []
        self._headings: list[tuple[int, str]] = []

    def add(self, kind: BlockKind, payload: Payload, span: SourceSpan) -> None:
        """Append one block below the headings added so far."""
        if isinstance(payload, Heading):
            self._headings = [above for above in self._headings if above[0] < payload.level]
        path = tuple(text for _, text in self._headings)
        ordinal = len(self.blocks)
        identity = block_id(self.doc, kind, path, ordinal, span.to_json())
        self.blocks.append(Block(identity, kind, path, ordinal, span, payload))
        if isinstance(payload, Heading) and payload.text:
            self._headings.append((payload.level, payload.text))
