"""Reads one changed file: bytes → known already? → document → chunks → its words, and a copy of its bytes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from kb.domain.chunks import ChunkPolicy
from kb.domain.documents import SourceFile
from kb.domain.ids import asset_id
from kb.domain.kinds import family_of
from kb.domain.results.ingest import StageTimes
from kb.errors import FileError, StoreError
from kb.extract.code.left_out import reason_left_out
from kb.operations.ingest.prepare import AssetPolicy, Cut, OpenFile, cut_file, write_down
from kb.scan.read import FileBytes, read_bytes
from kb.store import queries


class LeftOut(NamedTuple):
    """A source file that no person wrote, or not here, and by which rule that is known."""

    reason: str


Reading: TypeAlias = Cut | FileBytes | LeftOut | FileError
"""What reading a changed file gives: a document with new bytes, bytes that are known, none that count, or a failure."""


class Changed(NamedTuple):
    """A file that must be read: what is stored of the document at its path, and whether it would be made so now."""

    file: SourceFile
    stored: queries.StoredDocument | None
    is_current: bool


@dataclass(frozen=True, slots=True)
class ReadingRules:
    """How large files may be, how they are cut, and where copies of them go (nowhere in a dry run)."""

    max_file_bytes: int
    max_markdown_bytes: int
    policy: ChunkPolicy
    assets: AssetPolicy | None


def read_changed(changed: Changed, rules: ReadingRules, stages: StageTimes) -> Reading:
    """What a file without engines holds; without a copy where its bytes cannot be copied: storing it will say so."""
    try:
        opened = open_changed(changed, rules, stages)
        if not isinstance(opened, OpenFile):
            return opened
        cut = cut_file(opened, {}, rules.policy, stages=stages)
    except FileError as error:
        return error
    if rules.assets is None:
        return cut
    try:
        return replace(cut, written=write_down(cut, rules.assets, stages))
    except StoreError:
        return cut


def open_changed(changed: Changed, rules: ReadingRules, stages: StageTimes) -> OpenFile | FileBytes | LeftOut:
    """A file's bytes, to be made a document of unless they are known or left out. Raises: FileError."""
    file, stored = changed.file, changed.stored
    with stages.measure("read"):
        content = _content(file, rules)
    if family_of(file.media_type) == "code" and (reason := reason_left_out(content.data, file.workspace_path)):
        return LeftOut(reason)
    if stored is not None and changed.is_current and stored.asset_id == asset_id(content.blake3):
        return content
    return OpenFile(file, content, stored)


def _content(file: SourceFile, rules: ReadingRules) -> FileBytes:
    """The bytes of a file that is no larger than files of its kind may be."""
    any_bytes, markdown_bytes = rules.max_file_bytes, rules.max_markdown_bytes
    if family_of(file.media_type) == "markdown" and markdown_bytes < any_bytes:
        return read_bytes(file.source_path, max_bytes=markdown_bytes, limit="indexing.max_markdown_mb")
    return read_bytes(file.source_path, max_bytes=any_bytes, limit="indexing.max_file_mb")
