"""What `kb eval run` measures on the judged sets: every mode, words and both with intervals, refusals, kinds, claims.

It needs the installed models; the judged questions are sampled in even steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchmarks import claims
from benchmarks.embedded_base import embedded
from benchmarks.judged_set import load_judged_set, sample_questions
from benchmarks.knowledge_base import KnowledgeBase
from benchmarks.measurement import Cell, Measurement, Table
from benchmarks.progress import step
from benchmarks.retrieval import SETS
from kb.config import load
from kb.domain.results.evaluation import GroupMetrics
from kb.domain.run_handle import RunHandle
from kb.domain.search import SearchMode
from kb.eval.golden import Expectation, GoldenSet, Question, read_golden, write_golden
from kb.eval.question_files import read_judged_folder
from kb.operations.evaluate.runs import RunRequest, compare_runs, run_suite
from kb.operations.opening.base import open_base

QUESTIONS = 300
MODES: tuple[SearchMode, ...] = ("lexical", "vector", "hybrid")
REFUSALS = {"korquad-refusal-dev": "queries.jsonl", "squad2-dev": "refusal.jsonl"}
GOLDEN = Path(__file__).parents[1] / "fixtures/golden"
K = 10


def measure(data: Path | None, *, questions: int = QUESTIONS) -> Measurement:
    """The tables; `questions` of each judged set, 0 for all of them."""
    if data is None:
        raise SystemExit("quality needs --data DIR")
    means: list[tuple[Cell, ...]] = []
    changes: list[tuple[Cell, ...]] = []
    for name in SETS:
        judged = sample_questions(load_judged_set(data / name), questions)
        asked = tuple(
            Question(each, text, 0, expected=_expected(judged.judgements[each]))
            for each, text in judged.questions.items()
        )
        with embedded(judged.corpus, name) as base:
            for mode in MODES:
                means.append((name, mode, *_row(_whole(_run(base, GoldenSet(name, Path(name), asked), mode)))))
            changes.append((name, *_change(base, name)))
    refusals = tuple((name, *_refusals(data / name, file)) for name, file in REFUSALS.items())
    columns = ("questions", "hit@1", "hit@10", "MRR", "nDCG@10", "recall@10", "exact citations")
    return Measurement(
        "quality",
        (
            Table(f"{K} hits per question", ("set", "mode", *columns), tuple(means)),
            Table("nDCG@10, hybrid − lexical", ("set", "change", "95 % interval", "p"), tuple(changes)),
            Table(
                "Refusals of the extractive answerer",
                ("set", "questions", "unanswerable refused", "answerable not refused", "refusals that are right"),
                refusals,
            ),
            _kinds(),
            *claims.measure().tables,
        ),
        (),
        {"questions": questions},
    )


def _expected(grades: Mapping[str, int]) -> tuple[Expectation, ...]:
    return tuple(Expectation(grade, 0, path=path) for path, grade in grades.items())


def _run(
    base: KnowledgeBase, golden: GoldenSet, mode: SearchMode, *, with_ask: bool = False
) -> tuple[GroupMetrics, ...]:
    """The means of one run of a golden set, which is written beside the knowledge base."""
    suite = base.config.data_dir / f"{golden.suite}.yaml"
    suite.write_text(write_golden(golden), encoding="utf-8")
    request = RunRequest(suite, mode, K, f"{golden.suite}-{mode}", with_ask)
    with step(f"{golden.suite}: {mode}"), open_base(base.config, many=True) as session:
        return run_suite(session, request, RunHandle()).run.groups


def _whole(groups: tuple[GroupMetrics, ...]) -> GroupMetrics:
    return next(group for group in groups if group.grouping == "all")


def _row(group: GroupMetrics) -> tuple[Cell, ...]:
    values = (group.hit_at_1, group.hit_at_k, group.mrr, group.ndcg_at_10, group.recall_at_k_doc)
    return group.questions, *(round(value or 0, 4) for value in values), round(group.citation_exactness or 0, 4)


def _change(base: KnowledgeBase, suite: str) -> tuple[Cell, ...]:
    """nDCG@10 of the hybrid run against the lexical one."""
    with open_base(base.config) as session:
        comparison = compare_runs(session, f"{suite}-lexical", f"{suite}-hybrid", tolerance=0.01)
    found = next(change for change in comparison.metrics if change.metric.name == "ndcg_at_10")
    interval = f"[{found.low:+.4f}, {found.high:+.4f}]"
    return round(found.difference, 4), interval, round(found.p_value, 4)


def _refusals(folder: Path, queries: str) -> tuple[Cell, ...]:
    golden = read_judged_folder(folder / queries, None, suite=f"{folder.name}-refusals")
    asked = tuple(_without_paths(question) for question in golden.questions)
    with embedded(folder / "corpus", golden.suite) as base:
        config = load(str(base.config_path), ("models.llm.provider=extractive",))
        groups = _run(
            base._replace(config=config), GoldenSet(golden.suite, golden.file, asked), "hybrid", with_ask=True
        )
    whole = _whole(groups)
    shares = (whole.refusal_recall, whole.answer_recall, whole.refusal_precision)
    return whole.questions, *(round(share or 0, 4) for share in shares)


def _without_paths(question: Question) -> Question:
    return Question(id=question.id, query=question.query, line=0, lang=question.lang, answerable=question.answerable)


def _kinds() -> Table:
    """nDCG@10 of each kind of question of the golden set in fixtures/."""
    golden = read_golden(GOLDEN / "golden.yaml")
    with embedded(GOLDEN / "notes", golden.suite) as base:
        by_mode = {mode: {g.label: g for g in _run(base, golden, mode) if g.grouping == "category"} for mode in MODES}
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (kind, group.questions, *(round(by_mode[mode][kind].ndcg_at_10 or 0, 3) for mode in MODES))
        for kind, group in by_mode["hybrid"].items()
        if group.ndcg_at_10 is not None
    )
    return Table("fixtures/golden, nDCG@10 by kind of question", ("kind", "questions", *MODES), rows)
