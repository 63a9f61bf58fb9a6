"""Records what agents are given, beside their calls, and lists it."""

from __future__ import annotations

import sys
from contextlib import closing, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic

from kb.config import Config
from kb.domain.results.disclosure import Disclosure
from kb.errors import StoreError
from kb.operations.session.loaded_models import LoadedModels
from kb.operations.session.token_counter import token_counter
from kb.private import is_read_only
from kb.store.caches.audit_log import list_disclosures, open_audit, write_disclosures

_FILE = "audit.sqlite"
_BATCH = 200
# A call after a pause is written at once. What follows it so soon is counted and written together, not while the next
# one is answered.
_GATHERED_S = 0.5


def audit_file(config: Config) -> Path:
    """Where the record lies."""
    return config.data_dir / _FILE


class AuditLog:
    """Takes disclosures from any thread; one thread writes them, so that no call waits for the disk."""

    def __init__(self, config: Config, models: LoadedModels | None = None) -> None:
        """With the `models` of the session, words that it has counted need not be cut again."""
        self._path = audit_file(config)
        self._count = token_counter(config, models or LoadedModels(config.model_dir)).count
        self._queue: SimpleQueue[tuple[Disclosure, str] | None] = SimpleQueue()
        self._thread = Thread(target=self._write, name="kb-audit", daemon=True)
        self._thread.start()

    def add(self, disclosure: Disclosure, text: str) -> None:
        """Records a call that gave `text`, whose tokens are counted beside it, too."""
        self._queue.put((disclosure, text))

    def close(self) -> None:
        """Waits until all is written."""
        self._queue.put(None)
        self._thread.join()

    def _write(self) -> None:
        ended = False
        until = monotonic()
        while not ended:
            batch = [self._queue.get()]
            with suppress(Empty):
                while batch[-1] is not None and len(batch) < _BATCH:
                    batch.append(self._queue.get(timeout=max(0.0, until - monotonic())))
            ended = batch[-1] is None
            self._keep([each[0]._replace(tokens=self._count(each[1])) for each in batch if each is not None])
            until = monotonic() + _GATHERED_S

    def _keep(self, batch: list[Disclosure]) -> None:
        if not batch or is_read_only() or not self._path.parent.is_dir():  # before kb init there is nothing to give
            return
        try:
            with closing(open_audit(self._path)) as db:
                write_disclosures(db, self._path, batch)
        except StoreError as error:
            print(f"kb audit: {len(batch)} calls could not be recorded: {error.message}", file=sys.stderr)


def disclosures(config: Config, *, client: str | None, tool: str | None, limit: int) -> list[Disclosure]:
    """What agents were given, the last first. Raises: StoreError and its kin."""
    path = audit_file(config)
    if not path.is_file():
        return []
    with closing(open_audit(path)) as db:
        return list_disclosures(db, client=client, tool=tool, row_limit=limit)
