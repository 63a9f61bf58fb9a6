"""How far the embedding of one model is, counted in chunks: what a progress bar and `ingest_progress.v1` show.

Where an index is embedded again, how long that takes is told before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import NamedTuple

from kb.domain.embeddings import EmbeddingModel
from kb.domain.ingest_events import EmbedAgain, EmbedProgress
from kb.domain.run_handle import RunHandle
from kb.store import queries
from kb.store.connection import Connection

# Fewer passages are embedded before it could be read how long they take.
AGAIN_FROM_PASSAGES = 200

_SAMPLED_TEXTS = 8


class Tally(NamedTuple):
    """Tells how many of the `total` chunks without a vector have one now; `written` come from earlier batches."""

    handle: RunHandle
    model: str
    total: int
    written: int = 0

    def after(self, written: int) -> Tally:
        """The tally of the batch that follows so many chunks."""
        return self._replace(written=written)

    def tell_again(self, texts: Sequence[str], embed: Callable[[Sequence[str]], object], *, by_old: bool) -> None:
        """Tells that the total replaces other vectors, and how long that takes by some of the `texts` it lacks.

        `embed` is given them; the first of them loads its model, which is not counted.
        """
        sample = sorted(texts, key=len)[:: max(1, len(texts) // _SAMPLED_TEXTS)]
        embed(sample[:1])
        begun = perf_counter()
        embed(sample)
        seconds = (perf_counter() - begun) / len(sample) * self.total
        self.handle.tell(EmbedAgain(self.model, self.total, seconds, by_old))

    def tell(self, of_batch: int) -> None:
        """Tells that so many chunks of the batch in hand have vectors."""
        self.handle.tell(EmbedProgress(self.model, self.written + of_batch, self.total))


def start_tally(db: Connection, model: EmbeddingModel, form: str, handle: RunHandle) -> Tally:
    """The tally of a model's chunks without a committed vector of that form; told at once where there are any."""
    counts = queries.count_embedded(
        db,
        model_id=model.name,
        model_version=model.version,
        dimensions=model.dimensions,
        passage_version=form,
    )
    tally = Tally(handle, model.name, counts.chunks - counts.committed + counts.outdated if counts else 0)
    if tally.total:
        tally.tell(0)
    return tally
