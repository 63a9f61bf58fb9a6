"""The state of a running ingest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from kb.domain.derived import DerivedName
from kb.domain.documents import SourceFile
from kb.domain.kinds import MediaFamily, MediaType, family_of
from kb.domain.results.ingest import IngestReport
from kb.domain.run_handle import RunHandle
from kb.domain.text import to_posix
from kb.operations.ingest.engines import Engines
from kb.operations.ingest.read import ChangedFile, pipeline_tail
from kb.operations.ingest.requests import IngestRequest
from kb.store import queries
from kb.store.connection import Connection

_DESCRIBED: frozenset[DerivedName] = frozenset(("caption",))


@dataclass(slots=True)
class IngestRun:
    """A running ingest: the request, the connection, and its findings so far."""

    request: IngestRequest
    db: Connection
    report: IngestReport
    handle: RunHandle
    engines: Engines
    current: set[tuple[MediaType, str]] = field(default_factory=set)  # pipeline versions of today
    unread: Counter[MediaFamily] = field(default_factory=Counter)  # files without a usable engine
    unread_parts: Counter[DerivedName] = field(default_factory=Counter)  # files of which only a part could be read
    uncut: Counter[str] = field(default_factory=Counter)  # source files cut by paragraphs, by the lacking module
    vanished: dict[str, tuple[int, int, str, str]] = field(default_factory=dict)  # known files the walk has not met
    unknown_below: list[str] = field(default_factory=list)  # unreadable paths, whose stored documents stay
    finished: int = 0
    total: int = 0

    def changed(self, file: SourceFile) -> ChangedFile:
        """A file to read, with the document stored at its path."""
        stored = queries.select_document_at(self.db, workspace_path=file.workspace_path)
        current = stored and self.is_current(file.media_type, stored.pipeline_version, file.workspace_path)
        return ChangedFile(file, stored, bool(current))

    def is_current(self, media_type: MediaType, pipeline_version: str, path: str) -> bool:
        """Whether a document with that pipeline version would be made in the same way now; cached in `current`."""
        key, family = (media_type, pipeline_version), family_of(media_type)
        without = self.left_out(family, path)
        if without:
            return self._is_current(family, pipeline_version, without)
        if key not in self.current and self._is_current(family, pipeline_version, without):
            self.current.add(key)
        return key in self.current

    def left_out(self, family: MediaFamily, path: str) -> frozenset[DerivedName]:
        """The results not to derive from a file: no model describes a file that is hidden from models."""
        is_kept = family == "image" and self.request.kept_from_models(path)
        return _DESCRIBED if is_kept else frozenset()

    def _is_current(self, family: MediaFamily, pipeline_version: str, without: frozenset[DerivedName]) -> bool:
        tail = pipeline_tail(family, self.request.rules.policy)
        if not pipeline_version.endswith(tail):
            return False
        return self.engines.are_those_of(family, pipeline_version.removesuffix(tail), without)

    def leave_unread(self, family: MediaFamily) -> None:
        """Counts a file as unread, because its engine is not usable."""
        self.unread[family] += 1
        self.total -= 1

    def lacking(self) -> Iterator[str]:
        """One line for each needed engine that cannot be used, and for each missing plugin."""
        yield from self.request.plugins.notes()
        for note, count in self.uncut.items():
            from kb.installation import extra_command  # only needed for a hint

            yield f"{note}: {count} file{'' if count == 1 else 's'} ({extra_command('code')})"
        missing = self.engines.missing
        for message, hint in dict.fromkeys((error.message, error.hint) for error in missing.values()):
            steps = {step for step, error in missing.items() if error.message == message}
            unread = sum(count for family, count in self.unread.items() if steps & set(self.engines.lacked_by(family)))
            in_part = sum(self.unread_parts[name] for name in {step.name for step in steps})
            counts = [
                f"{count} file{'' if count == 1 else 's'} {how}"
                for count, how in ((unread, "not read"), (in_part, "read in part"))
                if count
            ]
            if counts:
                yield f"{message}: {', '.join(counts)}" + (f" ({hint})" if hint else "")

    def would_have_met(self, path: str) -> bool:
        """Whether the walk would meet a file at `path`: in its scope, with every folder above readable."""

        def is_below(folder: str) -> bool:
            return not folder or path == folder or path.startswith(folder + "/")

        return is_below(to_posix(self.request.scope)) and not any(map(is_below, self.unknown_below))
