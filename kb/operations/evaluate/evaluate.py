"""Asks every question of a golden set in one process and stores the outcomes: `kb eval run`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from kb.config import Config
from kb.domain.results.evaluation import EvalRun, GroupMetrics
from kb.domain.run_handle import RunHandle, StepProgress
from kb.errors import NotFound
from kb.eval.golden import Question, read_golden
from kb.eval.outcome import Expected
from kb.eval.report import write_run_files
from kb.operations.evaluate.question import GoldenAsker, expected_passages
from kb.operations.evaluate.runs import RunRequest, begin_run
from kb.operations.opening.base import Base
from kb.operations.opening.clock import now_utc
from kb.operations.opening.paging import corpus_revision
from kb.store import queries
from kb.store.connection import Connection, open_writer, transaction

QUESTIONS_A_TRANSACTION = 25


class RunReport(NamedTuple):
    """A run with its mean metrics; `resumed` questions were asked by an earlier call.

    `index_changed`: the index changed meanwhile, so the run measured an earlier state of it.
    """

    run: EvalRun
    resumed: int
    folder: Path
    index_changed: bool

    @property
    def groups(self) -> tuple[GroupMetrics, ...]:
        """The metrics of the run."""
        return self.run.groups


def run_suite(base: Base, request: RunRequest, handle: RunHandle) -> RunReport:
    """Asks the questions that no earlier call of the same run asked, and stores each outcome.

    All questions search one snapshot of the index: a concurrent ingest does not change the measurement.
    Raises: GoldenInvalid; NotIndexed and its kin; NotFound where the run is forgotten meanwhile; ModelMissing where the
    mode needs vectors and there are none.
    """
    with base.reading_views() as base, closing(open_writer(base.config.sqlite)) as db:
        golden = read_golden(request.suite)
        with base.snapshot():
            expected = expected_passages(base.db, golden)
            asker = GoldenAsker(base, request.mode, request.k, with_answers=request.with_ask)
            run = begin_run(base, db, golden, request, asker.ranking_version())
            answered = {row.query_id for row in queries.select_answered(db, run_id=run.run_id)}
            left = [(no, question) for no, question in enumerate(golden.questions, 1) if question.id not in answered]
            _ask_all(db, run, left, expected, asker, handle)
        return _finished(db, base.config, run, resumed=len(answered))


def _ask_all(
    db: Connection,
    run: EvalRun,
    left: Sequence[tuple[int, Question]],
    expected: Mapping[str, Expected],
    asker: GoldenAsker,
    handle: RunHandle,
) -> None:
    """Asks in batches and stores each batch in one transaction; a canceled run keeps its earlier outcomes."""
    done = run.answered
    for batch in (left[at : at + QUESTIONS_A_TRANSACTION] for at in range(0, len(left), QUESTIONS_A_TRANSACTION)):
        going_on = takewhile(lambda _: not handle.is_canceled(), batch)
        outcomes = [(question, asker.ask(no, question, expected[question.id])) for no, question in going_on]
        _keep(db, run, outcomes)
        done += len(outcomes)
        handle.tell(StepProgress("asking", done, run.questions, "questions"))
        if len(outcomes) < len(batch):
            return


def _keep(db: Connection, run: EvalRun, outcomes: Iterable[tuple[Question, str]]) -> None:
    """Stores the outcomes of a batch, except those that a concurrent call of the same run has stored.

    Raises: NotFound where the run is no longer there.
    """
    with transaction(db):
        if all(kept.run_id != run.run_id for kept in queries.select_runs(db)):
            raise NotFound("this run was forgotten while its questions were asked", "kb eval run begins another one")
        already = {row.query_id for row in queries.select_answered(db, run_id=run.run_id)}
        for question, result in outcomes:
            if question.id in already:
                continue
            queries.insert_query_result(db, run_id=run.run_id, query_id=question.id, result_json=result)


def _finished(db: Connection, config: Config, begun: EvalRun, *, resumed: int) -> RunReport:
    """The report of a run; finishes the run if every question was asked."""
    run_id = begun.run_id
    run = next(run for run in queries.select_runs(db) if run.run_id == run_id)
    groups = tuple(queries.select_group_metrics(db, run_id=run_id))
    folder = config.runs_dir / run_id
    if run.answered == run.questions:
        whole = next(group for group in groups if group.grouping == "all")
        queries.finish_run(db, aggregate_json=json.dumps(whole._asdict()), finished_at=now_utc(), run_id=run_id)
        run = next(run for run in queries.select_runs(db) if run.run_id == run_id)
        run = run._replace(groups=groups)
        write_run_files(folder, run, queries.select_results(db, run_id=run_id))
    run = run._replace(groups=groups)
    return RunReport(run, resumed, folder, index_changed=run.corpus_revision != corpus_revision(db))
