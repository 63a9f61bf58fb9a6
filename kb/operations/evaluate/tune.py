"""Fits the fusion rule to a golden set on the candidates a run has kept, without searching again: `kb eval tune`."""

from __future__ import annotations

import json
from collections import defaultdict

from kb.config import Config
from kb.config.editing import with_values
from kb.domain.results.measured import RunRow
from kb.domain.results.tuning import Scored, Setting, TuneReport, Tuning, config_values
from kb.errors import NotFound, UsageError
from kb.eval.tuning import FOLDS, FoldScore, chosen_by_fold, grid, held_out_gain, setting_of
from kb.operations.evaluate.runs import find_run
from kb.operations.search.search import fusion_rule
from kb.operations.session.session import Session
from kb.store.connection import Connection
from kb.store.rows import eval_queries as queries
from kb.writable import require_writable

TABLE_ROWS = 12

# More folds than any golden set has questions: each question is a fold of its own.
_EACH_QUESTION = 1_000_000_000


_FUSED_RUN = "kb eval run --mode hybrid --set rerank.provider=none makes one that can be tuned on"
_READ_RUN = (
    "what ranks read passages is not fitted to a golden set; what is answered and refused is, by kb eval calibrate; "
    f"the fusion rule is where passages are not read: {_FUSED_RUN}"
)


def tune(session: Session, named: str | None) -> TuneReport:
    """The best of a thousand fusion rules on one run's candidates; the newest hybrid run where none is named.

    Raises: NotFound; UsageError for a run that is not whole, or whose passages were put in order by reading them.
    """
    with session.reading() as base:
        run = tunable_run(base.db, named)
        return TuneReport(run, _tuning(base.db, run))


def tunable_run(db: Connection, named: str | None) -> RunRow:
    """A whole hybrid run that a fusion rule put in order: the newest, or the one that is named.

    Raises: NotFound; UsageError for a run that is none.
    """
    runs = queries.select_runs(db)
    fused = [run for run in runs if run.mode == "hybrid" and run.finished_at and not _was_read(run)]
    if not named and not fused:
        read = any(run.mode == "hybrid" and run.finished_at for run in runs)
        hint = _READ_RUN if read else _FUSED_RUN
        raise NotFound("there is no whole hybrid run that the fusion rule put in order", hint)
    run = find_run(runs, named) if named else fused[0]
    if run not in fused:
        name = run.name or run.run_id[:8]
        if run.finished_at and _was_read(run):
            raise UsageError(f"{name} was put in order by reading, not by the fusion rule", _READ_RUN)
        raise UsageError(f"{name} cannot be tuned on", "it takes a hybrid run that is whole: kb eval list")
    return run


def _was_read(run: RunRow) -> bool:
    return reads(json.loads(run.versions_json).get("ranking", ""))


def reads(ranking: str) -> bool:
    """Whether what passages are ranked by reads them: the fusion rule then decides nothing."""
    return "/reading@" in ranking or "/cross_encoder@" in ranking


def ran_by(run: RunRow) -> Setting:
    """The fusion rule that a run was made with."""
    settings = json.loads(run.config_snapshot_json)
    rule = fusion_rule(Config())._replace(
        fusion=settings["search.hybrid_fusion"],
        lexical_weight=settings["search.lexical_weight"],
        rrf_k=settings["search.rrf_k"],
        rrf_lexical_weight=settings["search.rrf_lexical_weight"],
    )
    return setting_of(rule, max(settings["search.candidate_depth"], 2 * run.k))


def _tuning(db: Connection, run: RunRow) -> Tuning:
    tried = grid(ran_by(run), 2 * run.k)
    queries.open_grid(db)
    queries.fill_grid(db, settings_json=json.dumps(tried), run_no=run.run_no)
    chosen, means = chosen_by_fold(FoldScore(*score) for score in queries.score_grid(db, folds=FOLDS))
    best = max(means, key=lambda setting_no: (means[setting_no], -setting_no))
    kept = sorted({1, best, *chosen.values()})
    queries.open_grid(db)
    queries.fill_grid(db, settings_json=json.dumps([tried[no - 1] for no in kept]), run_no=run.run_no)
    per_question: dict[int, dict[int, float]] = defaultdict(dict)
    for score in queries.score_grid(db, folds=_EACH_QUESTION):
        per_question[kept[score.setting_no - 1]][score.fold] = score.ndcg_at_10
    ordered = sorted(means, key=lambda setting_no: (-means[setting_no], setting_no))
    return Tuning(
        questions=len(per_question[1]),
        tried=len(tried),
        current=Scored(tried[0], means[1]),
        best=Scored(tried[best - 1], means[best]),
        table=tuple(Scored(tried[no - 1], means[no]) for no in ordered[:TABLE_ROWS]),
        held_out=held_out_gain(chosen, per_question, 1),
    )


def apply_tuning(config: Config, tuning: Tuning) -> None:
    """Writes the best rule to the configuration file.

    Raises: UsageError where there is no file, or the gain is inside the noise.
    """
    require_writable("the configuration")
    if config.file is None:
        raise UsageError("there is no configuration file to write to", "kb init makes one")
    if not tuning.is_gain:
        raise UsageError("nothing was written: the gain is inside the noise", "more questions would tell")
    text = with_values(config.file.read_text(encoding="utf-8-sig"), config_values(tuning.best.setting))
    try:
        config.file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{config.file} cannot be written: {error.strerror}", "make it writable") from error
