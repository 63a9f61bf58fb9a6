"""Records the calls of agents, with the places in their results, in a file beside the knowledge base, and lists them.

The file is separate because a commit to the knowledge base would make every open session check it for changes.
"""

from __future__ import annotations

import sys
from collections import deque
from contextlib import closing
from pathlib import Path
from threading import Event, Thread

from kb.config import Config
from kb.domain.results.answers import Disclosure
from kb.errors import StoreError
from kb.operations.opening.loaded_models import LoadedModels
from kb.operations.opening.paging import token_counter
from kb.private import is_read_only
from kb.store import queries
from kb.store.connection import Connection, open_private, sqlite_errors

# About a year of an agent's work, some 60 MB.
MOST_KEPT = 200_000
# A call after a pause is written at once. Calls within this time after it are counted and written together, so that
# the next answer need not wait.
_GATHERED_S = 0.5


def open_audit(path: Path) -> Connection:
    """Opens the record of calls at `path`, and makes it if there is none. Raises: StoreReadOnly, StoreError."""
    with sqlite_errors(path):
        db = open_private(path)
        queries.open_audit(db)
    return db


class AuditLog:
    """Takes records of calls from any thread; one thread writes them, so that no call waits for the disk."""

    def __init__(self, config: Config, models: LoadedModels | None = None) -> None:
        """`models` are those of the session, whose tokenizer is used."""
        self._path = config.audit
        self._count = token_counter(config, models or LoadedModels(config.model_dir)).count
        self._waiting: deque[tuple[Disclosure, str]] = deque()
        self._called = Event()
        self._ended = Event()
        self._thread = Thread(target=self._write, name="kb-audit", daemon=True)
        self._thread.start()

    def add(self, disclosure: Disclosure, text: str) -> None:
        """Records a call that returned `text`, whose tokens are counted."""
        self._waiting.append((disclosure, text))
        if not self._called.is_set():
            self._called.set()

    def close(self) -> None:
        """Waits until all records are written."""
        self._ended.set()
        self._called.set()
        self._thread.join()

    def _write(self) -> None:
        ending = False
        while not ending:
            self._called.wait()
            ending = self._ended.is_set()
            batch = [self._waiting.popleft() for _ in range(len(self._waiting))]
            self._keep([given._replace(tokens=self._count(text)) for given, text in batch])
            self._ended.wait(_GATHERED_S)  # the event is still set: no call wakes this thread
            self._called.clear()
            if self._waiting or self._ended.is_set():
                self._called.set()

    def _keep(self, batch: list[Disclosure]) -> None:
        if not batch or is_read_only() or not self._path.parent.is_dir():  # before kb init there is nothing to record
            return
        try:
            with closing(open_audit(self._path)) as db, sqlite_errors(self._path), db:
                for each in batch:
                    queries.insert_disclosure(db, **each._asdict())
                queries.delete_oldest(db, kept=MOST_KEPT)
        except StoreError as error:
            print(f"kb audit: {len(batch)} calls could not be recorded: {error.message}", file=sys.stderr)


def disclosures(config: Config, *, client: str | None, tool: str | None, limit: int) -> list[Disclosure]:
    """The recorded calls, newest first. Raises: StoreError and subclasses."""
    if not config.audit.is_file():
        return []
    with closing(open_audit(config.audit)) as db:
        return queries.list_disclosures(db, client=client, tool=tool, row_limit=limit)
