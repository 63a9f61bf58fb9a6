"""Many questions at once, whose passages a cluster reads: a judge that hands each reading to a worker.

A single question is read here, and so is a passage of a document that never goes to a cluster, or that was lost there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, TypeVar

from kb.domain.answers import PassageJudge, PassageReading
from kb.domain.run_handle import RunHandle
from kb.domain.search import Passage, Sentence
from kb.embed.text import passage_text
from kb.models.manifest import ENCODER
from kb.operations.compute.plan import compute_plan
from kb.operations.compute.there import KB, model_fact, read_there
from kb.operations.opening.base import Base
from kb.operations.opening.exposure import shown_documents
from kb.workers.pool import Lost

if TYPE_CHECKING:
    from kb.operations.compute.cluster import JoinedCluster

# Fewer questions are read here in the time in which a cluster is joined.
AWAY_FROM_QUESTIONS = 50

# Questions at once for each thread of the cluster, and at most: beyond it, the core of this process is full.
_AT_ONCE_A_THREAD, _MOST_AT_ONCE = 1, 32

Given = TypeVar("Given")
Found = TypeVar("Found")


@contextmanager
def asking(
    base: Base, questions: int, handle: RunHandle, notes: list[str]
) -> Iterator[tuple[Base, Callable[[Callable[[Given], Found], Sequence[Given]], Iterator[Found]]]]:
    """A base to ask the questions from, and the `map` to ask them by; results come in the order of the questions.

    On the configured cluster the function runs on several threads, each of which reads the base. Raises: as
    `open_cluster`; ClusterFailed where no worker has the judge, or the cluster is gone.
    """
    plan, judge = compute_plan(base.config), base.judge
    if not plan.scheduler or questions < AWAY_FROM_QUESTIONS or judge is None or not base.sees_all:
        yield base, map
        return
    from kb.operations.compute.cluster import JoinedCluster, open_cluster

    with base.snapshot() as read:
        sent = shown_documents(read.db, plan.kept_here) if plan.kept_here is not None else frozenset[str]()
    cluster = open_cluster(plan, None, (ENCODER,))
    joined = JoinedCluster(cluster, plan.scheduler, handle, notes, JudgeAway.needs)
    at_once = min(_AT_ONCE_A_THREAD * cluster.state.threads + 1, _MOST_AT_ONCE)
    session = Base(base.config, many=True, models=base.models, judge=JudgeAway(joined, judge, sent))
    with closing(joined), closing(session):
        pool = ThreadPoolExecutor(at_once, thread_name_prefix="asking")
        try:
            yield session, pool.map
        finally:
            pool.shutdown(cancel_futures=True)


class JudgeAway:
    """Reads passages of the documents that are `sent` on a cluster, others `here`. Several threads may use it."""

    needs = frozenset((KB, model_fact(ENCODER)))

    def __init__(self, joined: JoinedCluster, here: PassageJudge, sent: AbstractSet[str]) -> None:
        self._joined = joined
        self._here = here
        self._sent = sent

    def read(self, question: str, passage: Passage, sentences: Sequence[Sentence]) -> PassageReading:
        """Reads a passage under its headings, and scores these sentences of it. Raises: ModelError, ClusterFailed."""
        from kb.workers.cluster_tasks import Call

        if passage.doc_id not in self._sent:
            return self._here.read(question, passage, sentences)
        cluster, fact = self._joined.cluster, model_fact(ENCODER)
        headed = passage_text(passage.title, passage.heading_path, passage.text)
        places = [(each.start, each.end) for each in sentences]
        call = Call(
            (ENCODER, cluster.wanted[fact], question, headed, len(passage.text), places),
            partial(_is_reading, len(places)),
            8 * (len(places) + 1),
        )
        (task,) = cluster.submit(read_there, (call,), self.needs)
        found = task.result()
        if isinstance(found, Lost):
            self._joined.note(f"a task {found.reason}: its passage was read here")
            return self._here.read(question, passage, sentences)
        reading: PassageReading = found.value
        return reading


def _is_reading(sentences: int, found: object) -> bool:
    """Whether a result can be the reading of a passage with that number of sentences."""
    return (
        isinstance(found, PassageReading)
        and len(found.sentences) == sentences
        and all(map(isfinite, (found.score, *found.sentences)))
    )
