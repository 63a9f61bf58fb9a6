"""What searching by a question's rarer terms costs in quality: forced on, at the share of words a large index allows.

kb chooses terms from 20,000 passages on, within a budget of 40,000 occurrences: twice the passages of an index of
20,000, a twenty-fifth of one of a million. The judged sets are smaller; here they get the same share of their own
passages. It needs --data and the installed models.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from unittest.mock import patch

from benchmarks.embedded_base import embedded
from benchmarks.installed_models import CACHE, installed_models
from benchmarks.judged_set import JudgedSet, load_judged_set, sample_questions
from benchmarks.knowledge_base import KnowledgeBase
from benchmarks.measurement import Cell, Measurement, Table
from benchmarks.progress import step
from benchmarks.remembered_questions import remembered_questions
from benchmarks.retrieval import SETS, search_all
from benchmarks.scoring import score
from kb.domain.search import SearchMode
from kb.retrieve import terms

QUESTIONS = 300
HITS = 30
MODES: tuple[SearchMode, ...] = ("lexical", "hybrid")
LIKE_PASSAGES = (20_000, 100_000, 300_000, 1_000_000)
"""The sizes of index whose share is tried."""


def measure(data: Path | None, *, questions: int = QUESTIONS) -> Measurement:
    """nDCG@10 with all terms and with the affordable ones; `questions`: as in `hybrid`."""
    if data is None:
        raise SystemExit("term_choice needs --data DIR")
    rows: list[tuple[Cell, ...]] = []
    with remembered_questions(installed_models() / CACHE / "questions.sqlite"):
        for name in SETS:
            judged = sample_questions(load_judged_set(data / name), questions)
            with embedded(judged.corpus, name) as base:
                rows += [(name, mode, *_scores(base, judged, mode)) for mode in MODES]
    columns = ("set", "mode", "all terms", *(f"as of {size:,}" for size in LIKE_PASSAGES))
    return Measurement("term_choice", (Table("nDCG@10", columns, tuple(rows)),), figures={"questions": questions})


def _scores(base: KnowledgeBase, judged: JudgedSet, mode: SearchMode) -> list[float]:
    with closing(sqlite3.connect(base.config.sqlite)) as db:
        (passages,) = db.execute("SELECT count(*) FROM chunks").fetchone()
    found = [_ndcg(base, judged, mode, "all terms")]
    for size in LIKE_PASSAGES:
        budget = terms.OCCURRENCE_BUDGET * passages // size
        with (
            patch.object(terms, "LARGE_INDEX_CHUNKS", 0),
            patch.object(terms, "OCCURRENCE_BUDGET", budget),
        ):
            found.append(_ndcg(base, judged, mode, f"as of {size:,}"))
    return found


def _ndcg(base: KnowledgeBase, judged: JudgedSet, mode: SearchMode, how: str) -> float:
    with step(f"{judged.name}, {mode}: {len(judged.questions)} questions, {how}"):
        run = search_all(base, judged, mode, chunks=HITS)
    return round(score(judged.judgements, run.paths()).ndcg_at_10, 4)
