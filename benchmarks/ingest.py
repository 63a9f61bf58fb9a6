"""How many files a second an ingest takes, where the time goes, and what a second ingest costs when nothing changed.

Stages of all processes add up: with several they are more than the time by the clock.

Counted is the operation itself, from the opened database to the recorded run; the start of the process is not. No
vectors are made.
"""

from __future__ import annotations

import hashlib
import sqlite3
import statistics
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any
from unittest.mock import patch

from benchmarks.generated_notes import write_notes
from benchmarks.knowledge_base import KnowledgeBase, knowledge_base
from benchmarks.measurement import Cell, Measurement, Table, Target
from kb.domain.results.ingest import IngestReport
from kb.language import korean

LEAST_ENGLISH_FILES_PER_S = 600
LEAST_KOREAN_FILES_PER_S = 40
LEAST_UNCHANGED_FILES_PER_S = 50_000
UNCHANGED_FILES = 40_000
ROUNDS = 3
STAGES = ("scan", "read", "extract", "chunk", "words", "korean", "copy", "store")


def measure(data: Path | None) -> Measurement:
    """First ingests of English and Korean notes by stage, and a second ingest of 40,000 files."""
    rows: list[tuple[Cell, ...]] = []
    figures: dict[str, object] = {}
    targets: list[Target] = []
    if data is not None:
        english = _median_of_first_ingests(data / "cranfield" / "corpus")
        rows.append(_row("cranfield (English)", english))
        files_per_s = round(_files_per_s(english))
        targets.append(Target("English, files/s", files_per_s, "≥", LEAST_ENGLISH_FILES_PER_S))
        with _kiwi_clock() as clock, knowledge_base(data / "notes-ko") as base:
            notes = base.ingest()
        rows.append(_row("notes-ko (Korean)", notes))
        kiwi_share = round(1000 * clock.seconds / notes.duration_ms, 3)
        targets.append(Target("Korean, files/s", round(_files_per_s(notes)), "≥", LEAST_KOREAN_FILES_PER_S))
        figures |= {"english": _figures(english), "korean": {**_figures(notes), "kiwi_share": kiwi_share}}
    unchanged_per_s, changed_tables, first = _second_ingest()
    rows.append(_row("generated (English)", first))
    targets += [
        Target("nothing changed, files/s", unchanged_per_s, "≥", LEAST_UNCHANGED_FILES_PER_S),
        Target("nothing changed, tables changed but the record of the run", len(changed_tables), "≤", 0),
    ]
    figures |= {"generated": _figures(first), "unchanged_files_per_s": unchanged_per_s}
    columns = ("notes", "files", "s", "files/s", *(f"{stage} ms" for stage in STAGES))
    return Measurement("ingest", (Table("First ingest, time by stage", columns, tuple(rows)),), tuple(targets), figures)


class _Clock:
    """Seconds spent inside Kiwi: loading its model, and waiting for its analyses."""

    seconds = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Counts the time of the block."""
        start = perf_counter()
        yield
        self.seconds += perf_counter() - start


@contextmanager
def _kiwi_clock() -> Iterator[_Clock]:
    """Measures the analyser where kb calls it, its loading included."""
    clock, load = _Clock(), korean._kiwi
    load.cache_clear()

    class Timed:
        def __init__(self, kiwi: Any) -> None:
            self._kiwi = kiwi

        def tokenize(self, texts: Iterable[str]) -> Iterator[Any]:
            with clock.running():
                found = iter(self._kiwi.tokenize(texts))
            while True:
                with clock.running():
                    tokens = next(found, None)
                if tokens is None:
                    return
                yield tokens

    def timed_load() -> Any:
        with clock.running():
            return Timed(load())

    with patch.object(korean, "_kiwi", timed_load):
        yield clock


def _median_of_first_ingests(root: Path) -> IngestReport:
    reports = []
    for _ in range(ROUNDS):
        with knowledge_base(root) as base:
            reports.append(base.ingest())
    return sorted(reports, key=lambda report: report.duration_ms)[ROUNDS // 2]


def _second_ingest() -> tuple[int, list[str], IngestReport]:
    """Files a second when nothing changed, the tables that changed all the same, and the first ingest."""
    with knowledge_base() as base:
        write_notes(base.root, UNCHANGED_FILES, korean_share=0)
        first = base.ingest()
        before = _digests(base)
        seconds = []
        for _ in range(ROUNDS):
            start = perf_counter()
            report = base.ingest()
            seconds.append(perf_counter() - start)
            if report.counts.unchanged != UNCHANGED_FILES:
                raise RuntimeError(f"only {report.counts.unchanged} files were taken for unchanged")
        after = _digests(base)
    changed = [
        table for table in before if before[table] != after[table] and table not in ("ingest_runs", "job_records")
    ]
    return round(UNCHANGED_FILES / statistics.median(seconds)), changed, first


def _digests(base: KnowledgeBase) -> dict[str, str]:
    """A digest of every table's rows, the shadow tables of the lexical index among them."""
    with closing(sqlite3.connect(base.config.sqlite)) as db:
        tables = db.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"
        ).fetchall()
        digests = {}
        for (table,) in tables:
            digest = hashlib.sha256()
            for row in db.execute(f'SELECT * FROM "{table}"'):
                digest.update(repr(row).encode("utf-8"))
            digests[table] = digest.hexdigest()
        return digests


def _files_per_s(report: IngestReport) -> float:
    return 1000 * report.counts.scanned / max(1, report.duration_ms)


def _row(name: str, report: IngestReport) -> tuple[Cell, ...]:
    stages_ms = report.stages.to_ms()
    figures = (report.counts.scanned, round(report.duration_ms / 1000, 1), round(_files_per_s(report)))
    return (name, *figures, *(stages_ms.get(stage, 0) for stage in STAGES))


def _figures(report: IngestReport) -> dict[str, object]:
    return {
        "files": report.counts.scanned,
        "chunks": report.counts.chunks_indexed,
        "duration_ms": report.duration_ms,
        "files_per_s": round(_files_per_s(report), 1),
        "stages_ms": report.stages.to_ms(),
    }
