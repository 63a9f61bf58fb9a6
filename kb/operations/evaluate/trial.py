"""Tries one fusion rule on the candidates a run has kept, question by question: the sliders of `kb web`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from statistics import fmean

from kb.domain.results.tuning import Setting, Trial, TriedQuestion, Worth
from kb.domain.search import SearchQuery
from kb.errors import ModelError, UsageError
from kb.operations.evaluate.tune import ran_by, reads, tunable_run
from kb.operations.search.search import ranking_version
from kb.operations.session.knowledge_base import KnowledgeBase
from kb.operations.session.session import Session
from kb.store.rows import eval_queries as queries

# What a rule may be made of, each from and to; the depth is bounded by that of the run's candidates. By words alone all
# passages without a word of the question would tie, and what was kept of them does not say which comes first.
_BOUNDS = {"lexical_weight": (0.0, 0.99), "rrf_k": (1, 200), "rrf_lexical_weight": (0.0, 10.0)}


def try_rule(session: Session, named: str | None, changes: Mapping[str, str | float | int]) -> Trial:
    """What a rule would make of a run's questions: that of the run with these `changes`, beside the run's own.

    The newest run that the fusion rule put in order, where none is named. Nothing is searched again or written.
    Raises: NotFound; UsageError for a run that is none, or a rule that cannot be.
    """
    with session.reading() as base:
        run = tunable_run(base.db, named)
        current = ran_by(run)
        setting = _changed(current, changes, least_depth=2 * run.k)
        queries.open_grid(base.db)
        queries.fill_grid(base.db, settings_json=json.dumps([current, setting]), run_no=run.run_no)
        ranked = queries.rank_grid(base.db, run_no=run.run_no)
        half = len(ranked) // 2
        questions = tuple(
            TriedQuestion(now.query_id, now.query, now.lang, now.category, _worth(now), _worth(tried))
            for now, tried in zip(ranked[:half], ranked[half:], strict=True)
        )
        if not questions:
            raise UsageError("no question of this run says what it expects", "kb eval golden adds expectations")
        means = _mean([each.now for each in questions]), _mean([each.tried for each in questions])
        return Trial(run, current, setting, *means, questions, _is_read(base))


def _changed(current: Setting, changes: Mapping[str, str | float | int], *, least_depth: int) -> Setting:
    """Raises: UsageError."""
    setting: Setting = {**current, **changes}  # type: ignore[typeddict-item]
    if setting["rule"] not in ("linear", "rrf"):
        raise UsageError(f"no fusion rule {setting['rule']!r}", "linear or rrf")
    for name, (low, high) in _BOUNDS.items():
        if not low <= float(setting[name]) <= high:  # type: ignore[literal-required]
            raise UsageError(f"{name}: {setting[name]} is out of bounds", f"from {low} to {high}")  # type: ignore[literal-required]
    if not least_depth <= setting["depth"] <= current["depth"]:
        hint = f"from {least_depth}, twice the hits, to {current['depth']}, as many as the run has kept"
        raise UsageError(f"depth: {setting['depth']} is out of bounds", hint)
    return setting


def _worth(ranked: queries.GridRank) -> Worth:
    return Worth(ranked.ndcg_at_10, ranked.recall_at_10, ranked.first_rank)


def _mean(worths: Sequence[Worth]) -> Worth:
    return Worth(fmean(each.ndcg_at_10 for each in worths), fmean(each.recall_at_10 for each in worths))


def _is_read(base: KnowledgeBase) -> bool:
    """Whether hits are now put in order by reading; where nothing can be encoded they are not."""
    try:
        return reads(ranking_version(base, SearchQuery("any", "hybrid", 1)))
    except ModelError:
        return False
