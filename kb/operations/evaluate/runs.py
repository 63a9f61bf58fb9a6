"""Evaluation runs: asks the questions of a golden set; compares runs, and a run with the present files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import kb
from kb.config import Config
from kb.config.writing import items
from kb.domain.citations import Citation, LineCitation
from kb.domain.ids import canonical_json, content_hash, id_from
from kb.domain.results.answers import Standing
from kb.domain.results.evaluation import Answered, Comparison, EvalRun, Hit, Impact, MeasuredRun, RunReport
from kb.domain.run_handle import RunHandle, StepProgress
from kb.domain.search import SearchMode
from kb.domain.sources import Sources
from kb.errors import NotFound, UsageError, write_errors
from kb.eval.comparison import compare
from kb.eval.golden import GoldenSet, Question, read_golden
from kb.eval.outcome import ExpectedResults
from kb.eval.report import comparison_page, write_run_files
from kb.operations.answers.verify import look_up, verify
from kb.operations.evaluate.question import CitedFiles, GoldenAsker, expected_passages, file_hash
from kb.operations.opening.base import Base, ConnectedBase
from kb.operations.opening.clock import now_utc
from kb.operations.opening.jobs import NewJob, recorded
from kb.operations.opening.paging import corpus_revision
from kb.operations.opening.writing import writing
from kb.private import open_for_user
from kb.scan.git import commit_at
from kb.store import queries
from kb.store.connection import Connection, open_writer, transaction
from kb.store.mirror import mirrored

# Sections that do not affect the results of a search.
_NOT_MEASURED = ("workspace", "storage", "indexing", "eval")


@dataclass(frozen=True, slots=True)
class RunRequest:
    """The golden set, the search mode, the number of hits and the name of a run; `with_ask` answers questions too."""

    suite: Path
    mode: SearchMode
    k: int
    name: str | None = None
    with_ask: bool = False


def begin_run(base: ConnectedBase, db: Connection, golden: GoldenSet, request: RunRequest, ranking: str) -> EvalRun:
    """The unfinished run with the same questions, corpus, settings and versions, or else a new run.

    `base` is measured, with the ranking labelled `ranking`; the run is stored through `db`.
    """
    identity = {
        "suite": golden.suite,
        "config_snapshot_json": json.dumps(_snapshot(base.config, request), ensure_ascii=False),
        "commit_hash": commit_at(str(Path(kb.__file__).parents[1])),  # None where kb is installed
        "name": request.name,
        "mode": request.mode,
        "k": request.k,
        "questions": len(golden.questions),
        "suite_hash": suite_hash(golden),
        "corpus_hash": corpus_hash(base.db),
        "corpus_revision": corpus_revision(base.db),
        "versions_json": json.dumps(_versions(base, ranking)),
    }
    with transaction(db):
        for run in queries.select_runs(db):
            if run.finished_at is None and all(getattr(run, key) == value for key, value in identity.items()):
                return run
        created_at = now_utc()
        run_id = id_from({"kind": "eval_run", "suite": golden.suite, "created_at": created_at})
        queries.insert_run(db, run_id=run_id, created_at=created_at, **identity)  # type: ignore[arg-type]
        return next(run for run in queries.select_runs(db) if run.run_id == run_id)


def list_runs(base: Base) -> list[EvalRun]:
    """All runs, newest first."""
    with base.reading() as base:
        return queries.select_runs(base.db)


def find_run(runs: Sequence[EvalRun], named: str) -> EvalRun:
    """The newest run of that name, or else the run whose id begins with it. Raises: NotFound."""
    for run in runs:
        if run.name == named:
            return run
    found = [run for run in runs if run.run_id.startswith(named)] if named else []
    if len(found) == 1:
        return found[0]
    what = "no evaluation run" if not found else f"{len(found)} evaluation runs"
    raise NotFound(f"{what} {'is' if not found else 'are'} called {named!r}", "kb eval list shows them")


def forget_runs(config: Config, named: Sequence[str]) -> list[EvalRun]:
    """Removes runs with their results, not their folders; returns them. Raises: NotFound, and then removes none."""
    with writing(config.sqlite) as db:
        runs = queries.select_runs(db)
        found = [find_run(runs, name) for name in named]
        for run in found:
            queries.delete_run(db, run_id=run.run_id)
    return found


def suite_hash(golden: GoldenSet) -> str:
    """The hash of the questions with their expectations, independent of the file's layout."""
    questions = [
        [
            question.id,
            question.query,
            question.lang,
            question.answerable,
            [[e.path, e.doc_id, e.chunk_id, list(e.lines or ()), e.grade] for e in question.expected],
            list(question.must_contain),
            list(question.forbidden),
        ]
        for question in golden.questions
    ]
    return content_hash(canonical_json(questions))


def corpus_hash(db: Connection) -> str:
    """The hash of the files with their content, independent of how they are parsed, cut and indexed."""
    return content_hash(canonical_json([list(row) for row in queries.select_corpus(db)]))


def _snapshot(config: Config, request: RunRequest) -> dict[str, object]:
    settings = {key: value for key, value, _ in items(config) if key.partition(".")[0] not in _NOT_MEASURED}
    return {**settings, "with_ask": request.with_ask}


def _versions(base: ConnectedBase, ranking: str) -> dict[str, object]:
    """The versions of the index, its vectors and the ranking."""
    made = queries.select_index_versions(base.db)
    held = mirrored(base.db)
    return {
        "kb": kb.__version__,
        "index": base.index_version,
        "ranking": ranking,
        "parsers": json.loads(made.parsers_json) if made else [],
        "chunkers": json.loads(made.chunkers_json) if made else [],
        "policies": json.loads(made.policies_json) if made else [],
        **({} if held is None else {"primary": f"{held.model_id} {held.model_version}"}),
    }


TOLERANCE = 0.01
"""How far a metric may fall before the newer run counts as worse."""


def compare_runs(base: Base, before: str | None, after: str | None, *, tolerance: float = TOLERANCE) -> Comparison:
    """Compares two runs, given by names or ids; without names, the newest two of one golden set. Raises: NotFound."""
    with base.reading_views() as base:
        runs = queries.select_runs(base.db)
        if not runs:
            raise NotFound("there are no evaluation runs yet", "kb eval run makes one")
        new = find_run(runs, after) if after else runs[0]
        if before:
            old = find_run(runs, before)
        else:
            older = [run for run in runs if run.suite == new.suite and run.run_no < new.run_no]
            if not older:
                raise NotFound(
                    f"no earlier run of {new.suite} to compare with", "name two runs; kb eval list shows them"
                )
            old = older[0]
        return compare(_measured(base.db, old), _measured(base.db, new), tolerance=tolerance)


def write_report(comparison: Comparison, file: Path) -> None:
    """Writes a comparison as one self-contained HTML page. Raises: UsageError if the file cannot be written."""
    with write_errors(file, "name another file with --report", kind=UsageError), open_for_user(file) as page:
        page.write(comparison_page(comparison))


def _measured(db: Connection, run: EvalRun) -> MeasuredRun:
    results = {row.query_id: json.loads(row.result_json) for row in queries.select_results(db, run_id=run.run_id)}
    answered = {
        metrics.query_id: Answered(
            results[metrics.query_id]["query"],
            metrics,
            tuple(
                Hit(hit["rank"], hit["citation"], hit["grade"], hit["score"])
                for hit in results[metrics.query_id]["hits"]
            ),
        )
        for metrics in queries.select_query_metrics(db, run_id=run.run_id)
        if metrics.query_id in results  # on the page some questions may be hidden
    }
    groups = tuple(queries.select_group_metrics(db, run_id=run.run_id))
    return MeasuredRun(run._replace(groups=groups), answered)


QUESTIONS_A_TRANSACTION = 25


def run_suite(base: Base, request: RunRequest, handle: RunHandle) -> RunReport:
    """Asks the questions of a run that earlier calls have not asked, and stores each outcome.

    All questions search one snapshot of the index, so that a concurrent ingest does not change the measurement. Raises:
    GoldenInvalid; NotIndexed and other StoreErrors; NotFound if the run is deleted meanwhile; ModelMissing if the mode
    needs vectors and there are none.
    """
    with base.reading_views() as base, closing(open_writer(base.config.sqlite)) as db:
        golden = read_golden(request.suite)
        with base.snapshot():
            expected = expected_passages(base.db, golden)
            asker = GoldenAsker(base, request.mode, request.k, with_answers=request.with_ask)
            run = begin_run(base, db, golden, request, asker.ranking_version())
            answered = {row.query_id for row in queries.select_answered(db, run_id=run.run_id)}
            left = [(no, question) for no, question in enumerate(golden.questions, 1) if question.id not in answered]
            payload = {"suite": run.suite, "name": run.name, "mode": run.mode, "k": run.k}
            with recorded(NewJob(run.run_id, "evaluation", payload), handle, db, base.config.sqlite) as told:
                _ask_all(db, run, left, expected, asker, told)
        return _finished(db, base.config, run, resumed=len(answered))


def _ask_all(
    db: Connection,
    run: EvalRun,
    left: Sequence[tuple[int, Question]],
    expected: Mapping[str, ExpectedResults],
    asker: GoldenAsker,
    handle: RunHandle,
) -> None:
    """Asks in batches and stores each batch in one transaction; a canceled run keeps the outcomes stored before."""
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

    Raises: NotFound if the run no longer exists.
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
    """The report of a run, which is marked as finished if every question was asked."""
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


def impact(base: Base, suite: Path) -> list[Impact]:
    """The golden questions and stored answers whose cited lines have moved, changed or vanished.

    Questions are checked by the newest complete run of the suite, answers by their quotations. Raises: NotFound.
    """
    with base.reading() as opened:
        found = list(_questions(opened.db, suite, opened.config.sources))
    return found + list(_answers(base))


def impact_now(base: Base, suite: Path) -> list[Impact]:
    """As `impact`, but without golden questions if there is no golden set or no run of it: for the page."""
    if suite.exists():
        try:
            return impact(base, suite)
        except NotFound:
            pass  # no run has recorded the cited lines
    return list(_answers(base))


def _questions(db: Connection, suite: Path, sources: Sources) -> Iterator[Impact]:
    golden = read_golden(suite)
    runs = [run for run in queries.select_runs(db) if run.suite == golden.suite and run.finished_at]
    if not runs:
        raise NotFound(f"no run of {golden.suite} tells what its lines held", "kb eval run remembers them")
    asked = {question.id for question in golden.questions}
    files = CitedFiles()
    for row in queries.select_results(db, run_id=runs[0].run_id):
        if row.query_id not in asked:
            continue
        result = json.loads(row.result_json)
        for place in result["places"]:
            standing, cited, now_at = _standing(place, files.lines(str(sources.on_disk(place["path"]))))
            if standing != "stands":
                yield Impact("question", row.query_id, result["query"], cited, standing, now_at)


def _standing(place: dict[str, str | int | None], lines: list[str]) -> tuple[Standing, str, str | None]:
    """The state of an expected place, its citation, and its present place, None if there is none."""
    path, text = str(place["path"]), str(place["text"])
    if place["start"] is None:
        standing: Standing = "missing" if not lines else "stands" if file_hash(lines) == text else "changed"
        return standing, path, path if lines else None
    cited = LineCitation(path, int(place["start"]), int(place["end"] or 0))
    if not lines:
        return "missing", cited.to_uri(), None
    found = look_up(text, cited, "\n".join(lines))
    return found.standing, cited.to_uri(), found.now_at.to_uri() if found.now_at else None


def _answers(base: Base) -> Iterator[Impact]:
    for check in verify(base, None, every=True):
        for quote in check.quotes:
            if quote.standing != "stands":
                now_at: Citation | None = quote.now_at
                at = now_at.to_uri() if now_at else None
                yield Impact("answer", check.trace_id, check.question, quote.cited.to_uri(), quote.standing, at)
