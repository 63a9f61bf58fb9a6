"""How well questions find their documents on judged sets, and whether every citation holds what it cites.

A document's rank is that of its best chunk. Every hit of every question is checked: the cited lines of the file
must hold the chunk's text.
"""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from benchmarks.judged_set import JudgedSet, load_judged_set
from benchmarks.knowledge_base import KnowledgeBase, knowledge_base
from benchmarks.measurement import Measurement, Table, Target
from benchmarks.scoring import Scores, score
from kb.domain.citations import cited_lines
from kb.domain.filters import SearchFilters
from kb.domain.search import Passage, SearchMode, SearchQuery
from kb.operations.opening.base import open_base
from kb.operations.search.search import search

SETS = ("cranfield", "korquad-dev", "squad2-dev")
MODES: tuple[SearchMode, ...] = ("lexical",)
"""What is measured unless asked otherwise; the other modes take the vectors of every passage first."""

LEAST_NDCG_AT_10 = {("cranfield", "lexical"): 0.515, ("korquad-dev", "lexical"): 0.965, ("squad2-dev", "lexical"): 0.90}

CHUNKS = 100
"""Hits asked for, a question, unless told otherwise."""


class RankedDocument(NamedTuple):
    """One line of a run."""

    question: str
    path: str
    score: float


class CheckedRun(NamedTuple):
    """A run, and how many of its citations were checked and found wrong."""

    ranked: list[RankedDocument]
    citations: int
    wrong_citations: int
    seconds: float

    def paths(self) -> dict[str, list[str]]:
        """Question id → paths, best first."""
        found: dict[str, list[str]] = {}
        for line in self.ranked:
            found.setdefault(line.question, []).append(line.path)
        return found


def measure(
    data: Path, *, sets: Sequence[str] = SETS, modes: Sequence[SearchMode] = MODES, runs: Path | None = None
) -> Measurement:
    """Scores of every set in every mode; with `runs`, each run is written there as `<set>.<mode>.tsv`."""
    rows: list[tuple[str | int | float, ...]] = []
    targets: list[Target] = []
    figures: dict[str, object] = {}
    for name in sets:
        judged = load_judged_set(data / name)
        with knowledge_base(judged.corpus) as base:
            report = base.ingest(embed=any(mode != "lexical" for mode in modes))
            for mode in modes:
                run = search_all(base, judged, mode)
                scores = score(judged.judgements, run.paths())
                rounded = Scores(*(round(value, 4) for value in scores))
                rows.append((name, mode, len(judged.questions), *rounded, run.citations, run.wrong_citations))
                figures[f"{name}/{mode}"] = {
                    **rounded._asdict(),
                    "questions": len(judged.questions),
                    "documents": report.counts.scanned,
                    "citations": run.citations,
                    "wrong_citations": run.wrong_citations,
                    "search_ms": round(1000 * run.seconds / len(judged.questions), 2),
                }
                targets.append(Target(f"{name} {mode}: wrong citations", run.wrong_citations, "≤", 0))
                if (name, mode) in LEAST_NDCG_AT_10:
                    targets.append(
                        Target(f"{name} {mode}: nDCG@10", rounded.ndcg_at_10, "≥", LEAST_NDCG_AT_10[name, mode])
                    )
                if runs is not None:
                    write_run(run, runs / f"{name}.{mode}.tsv")
    columns = ("set", "mode", "questions", "nDCG@10", "recall@10", "recall@100", "MRR@10", "hit@1")
    table = Table("Retrieval", (*columns, "citations checked", "wrong"), tuple(rows))
    return Measurement("retrieval", (table,), tuple(targets), figures)


def search_all(base: KnowledgeBase, judged: JudgedSet, mode: SearchMode, *, chunks: int = CHUNKS) -> CheckedRun:
    """Every judged question asked for its best chunks in one process, every hit's citation compared with its file."""
    holds = _citation_checker(base)
    ranked: list[RankedDocument] = []
    citations = wrong = 0
    seconds = 0.0
    with open_base(base.config, many=True) as session:
        for question, text in judged.questions.items():
            start = perf_counter()
            hits = search(session, SearchQuery(text, mode, chunks, SearchFilters(as_text=True))).hits
            seconds += perf_counter() - start
            citations += len(hits)
            wrong += sum(not holds(hit) for hit in hits)
            ranked.extend(RankedDocument(question, hit.doc_path, hit.score) for hit in _best_of_each_document(hits))
    return CheckedRun(ranked, citations, wrong, seconds)


def write_run(run: CheckedRun, path: Path) -> None:
    """Writes `question <tab> path <tab> score`, one document a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line.question}\t{line.path}\t{line.score!r}\n" for line in run.ranked), encoding="utf-8")


def _best_of_each_document(hits: Sequence[Passage]) -> Iterator[Passage]:
    seen: set[str] = set()
    for hit in hits:
        if hit.doc_path not in seen:
            seen.add(hit.doc_path)
            yield hit


def _citation_checker(base: KnowledgeBase) -> Callable[[Passage], bool]:
    """A function that tells whether the lines a hit cites hold its chunk's text, word for word."""
    with closing(sqlite3.connect(base.config.sqlite)) as db:
        texts = dict(db.execute("SELECT chunk_id, text FROM chunks"))

    @functools.cache
    def lines(path: str) -> list[str]:
        text = (base.root / path).read_bytes().decode("utf-8-sig")
        return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")

    @functools.cache
    def holds(chunk_id: str, path: str, start: int, end: int) -> bool:
        return texts[chunk_id] in "\n".join(lines(path)[start - 1 : end])

    def cited(hit: Passage) -> bool:
        lines_of = cited_lines(hit.citation)
        assert lines_of is not None, "the documents of a judged set are texts"
        return holds(hit.chunk_id, lines_of.path, lines_of.start, lines_of.end)

    return cited
