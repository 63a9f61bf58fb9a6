"""One knowledge base, held open for one question or for many, and always as it is now.

A process that lasts keeps one session. Whatever another process changes meanwhile, the next question is answered from
it: documents, vectors, models, a migrated schema, a file that was replaced or removed. The configuration stays as it
was given, but for the rules of what an audience is not shown: those are read again when their file changes.

Several threads may ask at once. Each takes a connection for as long as it needs one; loaded models they share.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

from kb.config import Config, default_path, with_exposure_now
from kb.domain.search import SearchDefaults
from kb.errors import StoreError
from kb.operations.opening.reader import has_our_views, open_current, update_views
from kb.operations.session.knowledge_base import KnowledgeBase, search_defaults
from kb.operations.session.loaded_models import LoadedModels
from kb.store.connection import sqlite_errors

if TYPE_CHECKING:
    from kb.operations.session.exposure import Audience

# Device and inode: another file in the place of one that is open has others, as long as that is open.
FileIdentity: TypeAlias = tuple[int, int]
# Identity, size and time of a file: another one once it has been written.
_FileState: TypeAlias = tuple[int, ...]


class Session:
    """A configuration, the connections that are free, and the models that are loaded."""

    def __init__(self, config: Config, *, many: bool = False, audience: Audience | None = None) -> None:
        """Nothing is opened before it is needed, so a session may begin before there is a knowledge base.

        `many` questions are prepared for, as by a large index's ANN index; without, the first is answered sooner.
        What is kept from the `audience` is not seen in this session.
        """
        self._config = config
        self._rules_of: _FileState | None = None
        self.models = LoadedModels(config.model_dir, many=many)
        self._many = many
        self._audience = audience
        self._free: list[tuple[FileIdentity | None, KnowledgeBase]] = []
        self._opening = Lock()
        self._closed = False

    @property
    def config(self) -> Config:
        """The configuration; the rules of what is kept from this session's audience are those of the file as it is now.

        Raises: ConfigError where that file cannot be read any more.
        """
        if self._audience is not None:
            now = _state_of(self._config.file or default_path(os.environ))
            if now != self._rules_of:
                self._config = with_exposure_now(self._config)
                self._rules_of = now
        return self._config

    @property
    def defaults(self) -> SearchDefaults:
        """How a question is asked where it does not say itself."""
        return search_defaults(self.config)

    @contextmanager
    def reading(self) -> Iterator[KnowledgeBase]:
        """The knowledge base as it is now, this thread's alone until the block ends.

        One of an older schema is migrated first. Raises: NotIndexed, NotAKnowledgeBase, SchemaTooNew, StoreCorrupt;
        StoreReadOnly where it cannot be migrated.
        """
        config = self.config
        sqlite = config.sqlite
        file = _identity(sqlite)  # before it is opened: one that replaces it now is noticed by the next question
        base = self._free_one(file)
        whole = True
        try:
            with sqlite_errors(sqlite):
                if base is None:
                    with self._opening:  # two that migrate at once would be in each other's way
                        db = open_current(sqlite)
                        base = KnowledgeBase(db, config, self.models, many=self._many, audience=self._audience)
                else:
                    base.take_rules(config)
                    base.refresh()
                yield base
        except StoreError:
            whole = False
            raise
        finally:
            if base is not None and whole and not self._closed:
                self._free.append((file, base))
            elif base is not None:
                base.db.close()

    @contextmanager
    def reading_views(self) -> Iterator[KnowledgeBase]:
        """As `reading`, with the views as this kb has them; what a question is answered from are tables."""
        with self.reading() as base:
            is_current = has_our_views(base.db)
        if not is_current:
            update_views(self.config.sqlite)
        with self.reading() as base:
            yield base

    def close(self) -> None:
        """Closes the connections that are free; one in use is closed when its thread gives it back."""
        self._closed = True
        while self._free:
            self._free.pop()[1].db.close()

    def _free_one(self, file: FileIdentity | None) -> KnowledgeBase | None:
        """A free connection to the file that is there now; those to another that was in its place are closed."""
        while True:
            try:
                opened, base = self._free.pop()
            except IndexError:
                return None
            if opened == file:
                return base
            base.db.close()


@contextmanager
def open_session(config: Config, *, many: bool = False, audience: Audience | None = None) -> Iterator[Session]:
    """A session, closed at the end of the block."""
    session = Session(config, many=many, audience=audience)
    try:
        yield session
    finally:
        session.close()


def _state_of(path: Path) -> _FileState:
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _identity(path: Path) -> FileIdentity | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
