"""kb beside other engines on the same judged sets in the same run: how well they find, and how long it takes them.

Each peer runs in a process of its own, by the interpreter that KB_PEERS_PYTHON names (its own environment with bm25s,
PyStemmer and tantivy) or else by this one; what is not installed says so. Documents are judged, ten a question. Times
include everything a fresh process has to do; kb's indexing with vectors is that of a cache filled before.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from benchmarks.embedded_base import embedded
from benchmarks.judged_set import JudgedSet, load_judged_set, sample_questions
from benchmarks.knowledge_base import knowledge_base
from benchmarks.measurement import Cell, Measurement, Table
from benchmarks.peer_engines import ENGINES, HITS, NOT_INSTALLED
from benchmarks.progress import step
from benchmarks.scoring import Run, score
from kb.config import Config
from kb.domain.filters import SearchFilters
from kb.domain.search import SearchMode, SearchQuery
from kb.operations.opening.base import open_base
from kb.operations.search.search import search

_NOTE = (
    "kb indexes with Kiwi's morphemes, blocks and citations; with both, its vectors come from a cache. LanceDB's are "
    "rebuilt by the same encoder, one row per document. Recoll starts one process per question."
)

QUESTIONS = 100
SETS = ("cranfield", "korquad-dev")
OURS = "lancedb"
"""The peer that kb's own environment holds."""
CHUNKS = 30


def measure(data: Path | None, *, questions: int = QUESTIONS) -> Measurement:
    """One row a set and engine; `questions` of each set, 0 for all."""
    if data is None:
        raise SystemExit("peers needs --data DIR")
    rows: list[tuple[Cell, ...]] = []
    for name in SETS:
        judged = sample_questions(load_judged_set(data / name), questions)
        rows += [(name, *row) for row in _kb(judged)]
        rows += [(name, engine, *_peer(engine, judged)) for engine in ENGINES]
    columns = ("set", "engine", "nDCG@10", "recall@10", "index s", "ms a question")
    asked = f"{questions} questions a set" if questions else "All questions"
    return Measurement("peers", (Table(asked, columns, tuple(rows)),), (), {"rows": len(rows)}, (_NOTE,))


def _kb(judged: JudgedSet) -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = []
    with knowledge_base(judged.corpus) as base, step(f"{judged.name}: kb by words"):
        start = perf_counter()
        base.ingest()
        indexed_s = perf_counter() - start
        rows.append(("kb, words", *_scored(judged, *_ask(base.config, judged, "lexical"), indexed_s)))
    start = perf_counter()
    with embedded(judged.corpus, judged.name) as base:
        indexed_s = perf_counter() - start
        rows.append(("kb, both", *_scored(judged, *_ask(base.config, judged, "hybrid"), indexed_s)))
    return rows


def _ask(config: Config, judged: JudgedSet, mode: SearchMode) -> tuple[Run, float]:
    """The first ten documents of every question, and the seconds."""
    runs: dict[str, list[str]] = {}
    start = perf_counter()
    with open_base(config, many=True) as session:
        for asked, text in judged.questions.items():
            hits = search(session, SearchQuery(text, mode, CHUNKS, SearchFilters(as_text=True))).hits
            runs[asked] = list(dict.fromkeys(hit.doc_path for hit in hits))[:HITS]
    return runs, perf_counter() - start


def _peer(engine: str, judged: JudgedSet) -> tuple[Cell, ...]:
    """The figures of one peer, or a word on why there are none."""
    python = sys.executable if engine == OURS else os.environ.get("KB_PEERS_PYTHON", sys.executable)
    root = str(Path(__file__).parents[1])
    with tempfile.TemporaryDirectory(prefix="kb-peers-") as folder, step(f"{judged.name}: {engine}"):
        given, wanted = Path(folder) / "in.json", Path(folder) / "out.json"
        given.write_text(
            json.dumps({"corpus": str(judged.corpus.resolve()), "questions": judged.questions}), encoding="utf-8"
        )
        done = subprocess.run(
            [python, str(Path(__file__).with_name("peer_engines.py")), engine, str(given), str(wanted)],
            env={**os.environ, "PYTHONPATH": root},
            check=False,
        )
        if done.returncode == NOT_INSTALLED:
            return "not installed", "", "", ""
        if done.returncode:
            return "failed", "", "", ""
        result = json.loads(wanted.read_text(encoding="utf-8"))
    return _scored(judged, result["runs"], result["search_s"], result["index_s"])


def _scored(judged: JudgedSet, runs: Run, search_s: float, indexed_s: float) -> tuple[Cell, ...]:
    scores = score(judged.judgements, runs)
    each_ms = round(1000 * search_s / len(judged.questions), 1)
    return round(scores.ndcg_at_10, 4), round(scores.recall_at_10, 4), round(indexed_s, 1), each_ms
