"""Embeds what ingests have stored, and lets other processes write in between: the embedding of `kb watch`.

    a turn is asked for → the step ends → its vectors are stored → the database is closed → the turn → the next step

The model stays loaded, and a passage is embedded once.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from kb.domain.ingest_events import EmbedProgress
from kb.domain.run_handle import RunEvent, RunHandle
from kb.errors import KbError
from kb.operations.embedding.batch_vectors import LazyEmbedder
from kb.operations.embedding.embed import UNUSABLE, embed_missing
from kb.operations.embedding.plan import EmbeddingPlan
from kb.operations.opening.jobs import NewJob, job_id, recorded
from kb.operations.opening.writing import writing
from kb.store.connection import open_writer


def words_only(error: KbError) -> str:
    """The note of a run whose model cannot be used."""
    return f"{error.message}: passages are found by their words only ({error.hint})"


@dataclass(slots=True)
class Turns:
    """The turns of other writers. `take` waits until one has written; the database is not open then."""

    take: Callable[[], None]
    is_asked: bool = False

    def ask(self) -> None:
        """Asks for a turn, also from a signal handler."""
        self.is_asked = True


class _UntilAsked(RunHandle):
    """Stops work for a turn once it has embedded something, so that a folder that always changes is embedded too."""

    def __init__(self, handle: RunHandle, turns: Turns) -> None:
        super().__init__(handle.tell)
        self._handle, self._turns = handle, turns
        self._has_embedded = False

    def tell(self, event: RunEvent) -> None:
        """Passes an event on."""
        self._has_embedded = self._has_embedded or (isinstance(event, EmbedProgress) and event.done > 0)
        super().tell(event)

    def is_canceled(self) -> bool:
        """Whether the work should stop, for good or for a turn."""
        return self._handle.is_canceled() or (self._has_embedded and self._turns.is_asked)


def embed_in_turns(sqlite: Path, plan: EmbeddingPlan, handle: RunHandle, turns: Turns) -> list[str]:
    """Embeds all chunks that have no vector, with turns of other writers in between; returns notes.

    Raises: as `embed_missing`, but an unusable model becomes a note; StoreBusy if another process writes.
    """
    if plan.model is None:
        return []
    job = NewJob(job_id("embedding"), "embedding", {"model": plan.model}, is_sure=False)
    notes: dict[str, None] = {}
    try:
        embedder = LazyEmbedder(plan, plan.model)
        with closing(open_writer(sqlite)) as own, recorded(job, handle, own, sqlite) as told:
            is_left = True
            while is_left and not told.is_canceled():
                with writing(sqlite, with_vectors=True) as db:
                    report = embed_missing(db, plan, _UntilAsked(told, turns), embedder=embedder)
                notes |= dict.fromkeys(report.notes)
                is_left = report.aborted
                if is_left and not told.is_canceled():
                    turns.is_asked = False  # another may be asked for from now on
                    turns.take()
    except UNUSABLE as error:
        notes[words_only(error)] = None
    return list(notes)
