"""How the weight of words in the linear rule is chosen: every weight of a grid tried on kb's own candidates.

Each question is asked once, through the hybrid statement; its candidates come with their share of words and of meaning,
so that any weight can be tried on them afterwards. What is chosen on two sets is tried on the third, and differences
come with bootstrap intervals over the questions. It needs --data and the installed models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.embedded_base import embedded
from benchmarks.installed_models import CACHE, installed_models
from benchmarks.judged_set import JudgedSet, load_judged_set, sample_questions
from benchmarks.measurement import Cell, Measurement, Table
from benchmarks.progress import step
from benchmarks.remembered_questions import remembered_questions
from benchmarks.retrieval import SETS
from benchmarks.scoring import score_one
from kb.domain.candidates import Candidate
from kb.domain.search import SearchFilters, SearchQuery
from kb.operations.search.search import fusion_rule
from kb.operations.session.session import open_session
from kb.retrieve.hybrid import ranked_candidates
from kb.retrieve.terms import read_query

QUESTIONS = 300
GRID = tuple(round(0.01 * step, 2) for step in range(61))
SHOWN = (0.0, 0.1, 0.15, 0.2, 0.25, 0.28, 0.3, 0.4, 0.5)
RRF_K = 60
RESAMPLES = 5_000

Order: TypeAlias = Callable[[Candidate], float]
# A row a question, a column a weight of the grid: nDCG@10.
Grid: TypeAlias = NDArray[np.float64]


class Tried(NamedTuple):
    """The nDCG@10 of each question of one set: under every weight, and under what the rule is compared with."""

    linear: Grid
    others: dict[str, NDArray[np.float64]]
    asked: NDArray[np.float64]
    """As the statement itself ranks, slots for passages in another language included."""


def measure(data: Path | None, *, questions: int = QUESTIONS) -> Measurement:
    """The table over the grid, the choice with one set left out, and the intervals; `questions`: as in `hybrid`."""
    if data is None:
        raise SystemExit("fusion needs --data DIR")
    sets = {name: sample_questions(load_judged_set(data / name), questions) for name in SETS}
    with remembered_questions(installed_models() / CACHE / "questions.sqlite"):
        tried = {name: _tried(judged) for name, judged in sets.items()}
    weight = fusion_rule_weight()
    return Measurement(
        "fusion",
        (
            _grid_table(tried),
            _left_out_table(tried),
            _interval_table(tried, weight),
        ),
        figures={"questions": {name: len(of_set.asked) for name, of_set in tried.items()}},
        notes=(f"Intervals: 95 %, bootstrap over questions, {RESAMPLES:,} resamples.",),
    )


def fusion_rule_weight() -> float:
    """The weight kb has by default."""
    from kb.config.sections import SearchConfig

    return SearchConfig().lexical_weight


def _tried(judged: JudgedSet) -> Tried:
    """One set, every question's candidates ranked in every way."""
    grid: list[list[float]] = []
    others: dict[str, list[float]] = {"words": [], "meaning": [], "rrf": []}
    asked: list[float] = []
    with (
        embedded(judged.corpus, judged.name) as base,
        open_session(base.config, many=True) as session,
        session.reading() as opened,
    ):
        source = opened.vectors
        rule = fusion_rule(base.config)
        with step(f"{judged.name}: {len(judged.questions)} questions"):
            for question, text in judged.questions.items():
                query = SearchQuery(text, "hybrid", 10, SearchFilters(as_text=True))
                vectors = source.end(source.begin(query), depth=rule.depth, scanned=rule.depth)
                ranked = ranked_candidates(
                    opened.db, query, read_query(opened.db, text), vectors, rule, None, every=True
                )
                rows = [each.candidate for each in ranked]
                relevant = judged.judgements[question]

                def ndcg(
                    order: Order, rows: Sequence[Candidate] = rows, relevant: Mapping[str, int] = relevant
                ) -> float:
                    ranked = sorted(rows, key=lambda row: (-order(row), row.lexical_rank or 1e9, row.chunk_id))
                    return score_one(relevant, list(dict.fromkeys(row.workspace_path for row in ranked))).ndcg_at_10

                grid.append([ndcg(_linear(weight)) for weight in GRID])
                others["words"].append(ndcg(lambda row: row.lexical_score or 0))
                others["meaning"].append(ndcg(lambda row: row.vector_score or 0))
                others["rrf"].append(ndcg(_rrf))
                asked.append(ndcg(lambda row: row.fusion_score))
    return Tried(np.array(grid), {name: np.array(scores) for name, scores in others.items()}, np.array(asked))


def _linear(weight: float) -> Order:
    return lambda row: weight * row.lexical_share + (1 - weight) * (row.vector_score or 0)


def _rrf(row: Candidate) -> float:
    return sum(1 / (RRF_K + rank) for rank in (row.lexical_rank, row.vector_rank) if rank is not None)


def _grid_table(tried: dict[str, Tried]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (name, *(round(float(of_set.others[name].mean()), 4) for of_set in tried.values()))
        for name in ("words", "meaning", "rrf")
    ]
    for weight in SHOWN:
        column = GRID.index(weight)
        rows.append((f"a = {weight}", *(round(float(of_set.linear[:, column].mean()), 4) for of_set in tried.values())))
    rows.append(("as kb search ranks", *(round(float(of_set.asked.mean()), 4) for of_set in tried.values())))
    means = np.mean([of_set.linear.mean(axis=0) for of_set in tried.values()], axis=0)
    return Table(f"nDCG@10 (best mean of the sets: a = {GRID[int(means.argmax())]})", ("rule", *tried), tuple(rows))


def _left_out_table(tried: dict[str, Tried]) -> Table:
    """Each set's loss where the weight is the best of the other sets, and where its own best weight lies."""
    rows: list[tuple[Cell, ...]] = []
    for name, of_set in tried.items():
        means = of_set.linear.mean(axis=0)
        others = np.mean([other.linear.mean(axis=0) for left, other in tried.items() if left != name], axis=0)
        chosen = int(others.argmax())
        best = int(means.argmax())
        low, high = np.percentile(_resampled(of_set.linear).argmax(axis=1), [2.5, 97.5])
        rows.append(
            (
                name,
                GRID[chosen],
                round(float(means[chosen]), 4),
                GRID[best],
                round(float(means[best]), 4),
                f"[{GRID[int(low)]}, {GRID[int(high)]}]",
            )
        )
    columns = ("left out", "a of the others", "nDCG@10 with it", "own best a", "nDCG@10 with that", "interval of it")
    return Table("The weight chosen on two sets, tried on the third", columns, tuple(rows))


def _interval_table(tried: dict[str, Tried], weight: float) -> Table:
    column = GRID.index(weight)
    rows = []
    for name in ("words", "meaning", "rrf"):
        cells: list[Cell] = [name]
        for of_set in tried.values():
            difference = of_set.linear[:, column] - of_set.others[name]
            low, high = np.percentile(_resampled(difference[:, None])[:, 0], [2.5, 97.5])
            cells.append(f"{difference.mean():+.4f} [{low:+.4f}, {high:+.4f}]")
        rows.append(tuple(cells))
    return Table(f"nDCG@10 of linear, a = {weight}, minus", ("rule", *tried), tuple(rows))


def _resampled(scores: Grid) -> Grid:
    """float64[resamples, columns]: the columns' means over questions drawn with replacement (Efron 1979)."""
    random = np.random.default_rng(11)
    count = len(scores)
    drawn = random.multinomial(count, np.full(count, 1 / count), size=RESAMPLES)
    means: Grid = drawn @ scores / count
    return means
