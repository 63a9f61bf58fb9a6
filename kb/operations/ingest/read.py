"""Reads one changed file: bytes → known already? → document → chunks → its words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from kb.chunk.chunkers import cut_document
from kb.domain.derived import Derived, DerivedName
from kb.domain.documents import Chunk, ChunkPolicy, Document, SourceFile
from kb.domain.ids import asset_id
from kb.domain.kinds import MediaFamily, family_of
from kb.domain.results.ingest import StageTimes
from kb.domain.text import WorkspacePath
from kb.errors import FileError
from kb.extract.code.left_out import reason_left_out
from kb.extract.registry import extractor_of
from kb.language.names import name_timestamp
from kb.operations.ingest.words import indexed_words, pipeline_tail
from kb.operations.opening.clock import from_ns
from kb.scan.read import FileBytes, read_bytes
from kb.store import queries
from kb.store.documents import NO_WORDS, ReadDocument


class LeftOut(NamedTuple):
    """A source file that is generated or from elsewhere, and the rule that says so."""

    reason: str


Reading: TypeAlias = ReadDocument | SourceFile | LeftOut | FileError
"""The result of reading a changed file: a document, where its bytes are new; the file as it is now, where they are
known; the rule that leaves it out; or a failure."""


ReadBatch: TypeAlias = list[tuple[SourceFile, Reading]]
"""Files with their readings, to be stored together."""


class ChangedFile(NamedTuple):
    """A file to read, the stored document at its path, and whether that is current."""

    file: SourceFile
    stored: queries.StoredDocument | None
    is_current: bool

    @property
    def family(self) -> MediaFamily:
        """The kind of file."""
        return family_of(self.file.media_type)


@dataclass(frozen=True, slots=True)
class ReadingRules:
    """The size limits of files, how they are cut, and whether they are stored: not in a dry run."""

    max_file_bytes: int
    max_markdown_bytes: int
    policy: ChunkPolicy
    is_stored: bool


def read_changed(changed: ChangedFile, rules: ReadingRules, stages: StageTimes) -> Reading:
    """Reads a file without engines."""
    try:
        content = read_content(changed, rules, stages)
        return read_document(changed, content, {}, rules, stages) if isinstance(content, FileBytes) else content
    except FileError as error:
        return error


def read_content(changed: ChangedFile, rules: ReadingRules, stages: StageTimes) -> FileBytes | SourceFile | LeftOut:
    """A file's bytes, unless they are known or left out. Raises: FileError."""
    file, stored = changed.file, changed.stored
    limit, max_bytes = "indexing.max_file_mb", rules.max_file_bytes
    if changed.family == "markdown" and rules.max_markdown_bytes < max_bytes:
        limit, max_bytes = "indexing.max_markdown_mb", rules.max_markdown_bytes
    with stages.measure("read"):
        content = read_bytes(file.source_path, max_bytes=max_bytes, limit=limit)
    if changed.family == "code" and (reason := reason_left_out(content.data, file.workspace_path)):
        return LeftOut(reason)
    if stored is not None and changed.is_current and stored.asset_id == asset_id(content.blake3):
        return _as_read(file, content)
    return content


def read_document(
    changed: ChangedFile,
    content: FileBytes,
    derived: Mapping[DerivedName, Derived],
    rules: ReadingRules,
    stages: StageTimes,
) -> ReadDocument:
    """The document of a file's bytes or of its derived results, with chunks and words. Raises: FileError."""
    with stages.measure("extract"):
        document = extractor_of(changed.family).document(
            content.data,
            derived,
            workspace_path=WorkspacePath(changed.file.workspace_path),
            asset_id=asset_id(content.blake3),
        )
    with stages.measure("chunk"):
        chunks = cut_document(document, changed.family, rules.policy)
    return with_words(changed, content, document, chunks, tuple(derived.values()), rules, stages)


def with_words(
    changed: ChangedFile,
    content: FileBytes,
    document: Document,
    chunks: tuple[Chunk, ...],
    derived: tuple[Derived, ...],
    rules: ReadingRules,
    stages: StageTimes,
) -> ReadDocument:
    """A document with its indexed words, except in a dry run."""
    indexed = NO_WORDS
    if rules.is_stored:
        with stages.measure("words"):
            indexed = indexed_words(document, chunks, changed.family)
    changed_at = from_ns(changed.file.mtime_ns)
    return ReadDocument(
        file=_as_read(changed.file, content),
        stored=changed.stored,
        document=document,
        chunks=chunks,
        indexed=indexed,
        derived=derived,
        checksum=content.blake3,
        data=content.data,
        pipeline_version=document.parser_version + pipeline_tail(changed.family, rules.policy),
        created_at=document.metadata.created_at or name_timestamp(document.workspace_path) or changed_at,
        updated_at=document.metadata.updated_at or changed_at,
    )


def _as_read(file: SourceFile, content: FileBytes) -> SourceFile:
    return file._replace(byte_len=content.byte_len, mtime_ns=content.mtime_ns)
