"""How long a thousand fusion rules take to be tried in SQL on the candidates of three thousand made-up questions.

The candidates are made up so that words and meaning agree as often as they do in judged sets: on one question in five
the relevant document is first in neither channel. The same statements run in `kb eval tune` and in plain `sqlite3`.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from time import perf_counter, process_time

from benchmarks.measurement import Measurement, Table, Target
from kb.domain.results.tuning import Setting
from kb.eval.tuning import grid
from kb.operations.opening.writer import in_memory
from kb.store.connection import Connection, transaction
from kb.store.rows import eval_queries as queries

QUESTIONS = 3_000
DEPTH = 50
ONLY_BY_MEANING = 35
"""Candidates of a question that the words did not find, beside those they did."""
HARD_SHARE = 0.2
MOST_SECONDS = 10.0


def measure(data: Path | None = None) -> Measurement:
    """Seconds to fill the tables and to score the grid, of the process and of the clock."""
    current: Setting = {"rule": "linear", "lexical_weight": 0.25, "rrf_k": 60, "rrf_lexical_weight": 1, "depth": DEPTH}
    rules = grid(current, DEPTH // 2)
    with in_memory() as db:
        _make_run(db)
        queries.open_grid(db)
        marks = [(process_time(), perf_counter())]
        queries.fill_grid(db, settings_json=json.dumps(rules), run_no=1)
        marks.append((process_time(), perf_counter()))
        scores = queries.score_grid(db, folds=5)
        marks.append((process_time(), perf_counter()))
    filling, scoring = ([later - earlier for earlier, later in zip(*pair, strict=True)] for pair in pairwise(marks))
    seconds = round(filling[0] + scoring[0], 2)
    rows = (
        ("fill", round(filling[0], 2), round(filling[1], 2)),
        ("score", round(scoring[0], 2), round(scoring[1], 2)),
    )
    title = f"{len(rules):,} rules, {QUESTIONS:,} questions, {QUESTIONS * (DEPTH + ONLY_BY_MEANING):,} candidates"
    return Measurement(
        "fusion_grid",
        (Table(title, ("step", "processor s", "clock s"), rows),),
        (Target("processor seconds", seconds, "≤", MOST_SECONDS),),
        {"rules": len(rules), "scored": len(scores), "seconds": seconds},
    )


def _make_run(db: Connection) -> None:
    """One whole hybrid run with its candidates."""
    blank = dict.fromkeys(("config_snapshot_json", "created_at", "suite_hash", "corpus_hash", "versions_json"), "{}")
    generator = random.Random(1)
    result = {"answerable": 1, "expected_grades": [1], "hits": []}
    with transaction(db):
        queries.insert_run(
            db,
            run_id="r",
            suite="made up",
            commit_hash=None,
            name=None,
            mode="hybrid",
            k=10,
            questions=QUESTIONS,
            corpus_revision=0,
            **blank,
        )
        for number in range(1, QUESTIONS + 1):
            kept = json.dumps({"query_no": number, **result})
            queries.insert_query_result(db, run_id="r", query_id=str(number), result_json=kept)
        queries.insert_candidates(
            db, (row for number in range(1, QUESTIONS + 1) for row in candidates(number, generator))
        )


def candidates(query_no: int, generator: random.Random) -> Iterator[queries.CandidateRow]:
    """A question's candidates: shares drawn apart from each other, the relevant document's raised in both channels."""
    raised = 0.1 if generator.random() < HARD_SHARE else 1.0
    count = DEPTH + ONLY_BY_MEANING
    lexical = [generator.random() * 0.5 + (raised if at == 0 else 0) for at in range(DEPTH)]
    vector = [0.75 + generator.random() * 0.1 + (0.2 * raised if at == 0 else 0) for at in range(count)]
    by_words = {at: rank for rank, at in enumerate(sorted(range(DEPTH), key=lambda at: -lexical[at]), 1)}
    by_meaning = {at: rank for rank, at in enumerate(sorted(range(count), key=lambda at: -vector[at]), 1)}
    for at in range(count):
        yield queries.CandidateRow(
            run_no=1,
            query_no=query_no,
            doc_no=at + 1,
            chunk_no=at + 1,
            grade=int(at == 0),
            lexical_rank=by_words.get(at),
            vector_rank=by_meaning[at],
            lexical_share=lexical[at] if at < DEPTH else 0.0,
            vector_share=vector[at],
        )
