"""Records the files that are not read in the table `unread_files`, so that a run does not try them again without need.

A file is read again when its size, time or place changes, or what reads it: versions, engines and limits.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from kb.domain.documents import SourceFile
from kb.domain.kinds import family_of
from kb.domain.results.ingest import Unread, UnreadFile
from kb.errors import ExtractFailed, FileError, FileTooLarge, ModelError
from kb.scan.read import RACY_NS
from kb.scan.walk import SkippedFile
from kb.store import queries
from kb.store.connection import Connection, transaction

# Failures by a file's bytes. Others, such as a lacking permission, may end without a change of the file.
_OF_THE_BYTES = (ExtractFailed, FileTooLarge)

_NOT_YET = "not_read_yet", "not read yet", "kb ingest reads them"
_OFF = "the engines that read such files are off", "ocr.enabled, image_caption.enabled or audio.enabled"


class UnreadFiles:
    """The records of earlier runs, and those of this run, which began at `began_ns`. A dry run writes none."""

    def __init__(self, db: Connection, *, began_ns: int, now: str, writes: bool) -> None:
        self._db, self._now, self._writes = db, now, writes
        self._settled_before_ns = began_ns - RACY_NS
        self._known = {row.workspace_path: row for row in queries.select_unread_files(db)}
        self._unmet = set(self._known)
        self._found: list[UnreadFile] = []
        self._read: list[str] = []
        self._not_looked_at: set[str] = set()

    def met(self, path: str) -> None:
        """Notes that the walk has met a file, so that it is not gone."""
        self._unmet.discard(path)

    def as_before(self, file: SourceFile, reader: str) -> UnreadFile | None:
        """The record of a file that this reader could not read and that has not changed since; None without one."""
        known = self._known.get(file.workspace_path)
        now = (file.source_path, file.byte_len, file.mtime_ns, reader)
        return known if known and (known.source_path, known.byte_len, known.mtime_ns, known.reader) == now else None

    def failed(self, file: SourceFile, reader: str, error: FileError, *, again: bool) -> None:
        """Records a file that could not be read; `again`: the next run tries it even if it has not changed."""
        said = (error.code, error.message, error.hint)
        self._note(file, reader, "failed", said, keeps=isinstance(error, _OF_THE_BYTES) and not again)

    def left_out(self, file: SourceFile, reader: str, skipped: SkippedFile) -> None:
        """Records a file that a rule about its content leaves out."""
        self._note(file, reader, "left out", (skipped.reason, skipped.reason, None))

    def waiting(self, file: SourceFile, reader: str, lacks: ModelError | None) -> None:
        """Records a file whose engine is not installed (`lacks` says what), or is switched off."""
        said = ("engine_off", *_OFF) if lacks is None else (lacks.code, lacks.message, lacks.hint)
        self._note(file, reader, "waiting", said)

    def not_yet(self, file: SourceFile) -> None:
        """Records a file whose text, or the text of its pictures, is stored once this run or a later one reads it."""
        if file.workspace_path not in self._not_looked_at:  # a file of the same name
            self._note(file, "", "waiting", _NOT_YET)

    def off(self, file: SourceFile, said: tuple[str, str, str]) -> None:
        """Records a file that a setting would read; `said` is the code, message and hint."""
        self._note(file, "", "waiting", said)

    def not_looked_at(self, path: str, error: FileError) -> None:
        """Records a file or folder that the walk could not look at."""
        self.met(path)
        self._not_looked_at.add(path)
        said = (error.code, error.message, error.hint)
        self._found.append(UnreadFile(path, "", None, 0, 0, "", "failed", *said, self._now))

    def read(self, path: str) -> None:
        """Deletes the record of a file that was read, with the next `write`; not that of a file of the same name."""
        if path in self._known and path not in self._not_looked_at:
            self._read.append(path)

    def forget_gone(self, would_have_met: Callable[[str], bool]) -> None:
        """Deletes the records of files that the walk did not meet but would have met if they existed."""
        gone = [path for path in self._unmet if would_have_met(path)]
        if gone and self._writes:
            with transaction(self._db):
                self._forget(gone)

    def write(self) -> None:
        """Writes what was recorded since the last call."""
        found, self._found = self._found, []
        read, self._read = self._read, []
        rows = [row for row in found if self._is_new(row)]
        if self._writes and (rows or read):
            with transaction(self._db):
                self._forget(read)
                queries.upsert_unread_files(self._db, (row._asdict() for row in rows))  # type: ignore[misc]
            self._known |= {row.workspace_path: row for row in rows if row.code == _NOT_YET[0]}

    def _is_new(self, row: UnreadFile) -> bool:
        known = self._known.get(row.workspace_path)
        return known is None or known._replace(since=row.since) != row

    def _note(
        self, file: SourceFile, reader: str, outcome: Unread, said: tuple[str, str, str | None], *, keeps: bool = True
    ) -> None:
        path, source, media_type, byte_len, mtime_ns = file
        is_settled = keeps and mtime_ns <= self._settled_before_ns
        noted = (family_of(media_type), byte_len, mtime_ns if is_settled else 0, reader, outcome, *said)
        self._found.append(UnreadFile(path, source, *noted, self._now))

    def _forget(self, paths: list[str]) -> None:
        if paths:
            queries.delete_unread_files(self._db, paths_json=json.dumps(paths, ensure_ascii=False))
