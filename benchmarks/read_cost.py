"""What reading costs: a warm and a cold hybrid search with it and without, and an ingest that keeps sentence vectors.

Warm, the questions of three judged sets are asked of their documents together; the candidates that are read are as many
in any index, while the statement that finds them takes longer in a larger one: so this is more than its part at 10,000
passages. It needs the installed models; what they made once is kept beside them, but for the ingests.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

from benchmarks.embedded_base import embedded
from benchmarks.installed_models import installed_models
from benchmarks.judged_set import load_judged_set, sample_questions
from benchmarks.knowledge_base import KnowledgeBase, knowledge_base
from benchmarks.measurement import Cell, Measurement, Table, Target
from benchmarks.processes import Times, run_in_turns, search_command
from benchmarks.progress import step
from benchmarks.retrieval import SETS
from kb.config import load
from kb.domain.search import SearchQuery
from kb.operations.search.search import search
from kb.operations.session.session import Session, open_session

QUESTIONS = 60
"""So many questions of each set are asked, unless told otherwise."""

COLD_ROUNDS, COLD_NOTES = 15, 200
INGESTED, INGEST_ROUNDS = 60, 3
MOST_WARM, MOST_COLD, MOST_INGEST = 1.5, 1.3, 1.25
_UNREAD = "rerank.provider=none"
_WITHOUT_SENTENCES = "[models.embedding]\nsentences = false\n"


def measure(data: Path | None, *, questions: int = QUESTIONS) -> Measurement:
    """Medians with reading and without, in turns, and their ratios."""
    if data is None:
        raise SystemExit("read_cost needs --data DIR")
    texts = [
        text for name in SETS for text in sample_questions(load_judged_set(data / name), questions).questions.values()
    ]
    with (
        _documents(data) as documents,
        embedded(documents, "three sets") as base,
        step(f"{len(texts)} questions, warm"),
    ):
        warm = _warm(base, texts)
    with _documents(data, COLD_NOTES) as documents, embedded(documents, "cold") as base, step("cold"):
        cold = _cold(base, texts[0])
    ingest = _ingests(data)
    measured = {"warm search": (warm, MOST_WARM), "cold search": (cold, MOST_COLD), "ingest": (ingest, MOST_INGEST)}
    rows: list[tuple[Cell, ...]] = []
    targets: list[Target] = []
    for name, ((reading, without), most) in measured.items():
        wall, cpu = (round(a / b, 2) for a, b in zip(_medians(reading), _medians(without), strict=True))
        rows.append((name, *(round(ms, 1) for ms in (*_medians(reading), *_medians(without))), wall, cpu))
        targets.append(Target(f"{name}: processor time with reading / without", cpu, "≤", most))
    columns = ("", "ms", "processor ms", "without: ms", "without: processor ms", "×", "× processor")
    return Measurement("read_cost", (Table("With reading and without, medians", columns, tuple(rows)),), tuple(targets))


def _medians(times: Times) -> tuple[float, float]:
    return median(times.wall_ms), median(times.cpu_ms)


@contextmanager
def _documents(data: Path, of_each: int = 0) -> Iterator[Path]:
    """A folder with the documents of all sets, or so many of each in even steps."""
    with tempfile.TemporaryDirectory(prefix="kb-benchmark-") as folder:
        for name in SETS:
            corpus = data / name / "corpus"
            files = sorted(corpus.rglob("*.md"))
            count = of_each or len(files)
            for number in range(min(count, len(files))):
                chosen = files[number * len(files) // count]
                copy = Path(folder, name, chosen.relative_to(corpus))
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(chosen, copy)
        yield Path(folder)


def _warm(base: KnowledgeBase, texts: Sequence[str]) -> tuple[Times, Times]:
    """Each question both ways in turns, after all were asked once."""
    with ExitStack() as opened:
        sessions = [
            opened.enter_context(open_session(load(str(base.config_path), settings), many=True))
            for settings in ((), (_UNREAD,))
        ]
        times = Times([], []), Times([], [])
        for text in texts:
            for session in sessions:
                _ask(session, text, Times([], []))
        for text in texts:
            for session, of_session in zip(sessions, times, strict=True):
                _ask(session, text, of_session)
    return times


def _ask(session: Session, text: str, times: Times) -> None:
    wall, cpu = perf_counter(), process_time()
    search(session, SearchQuery(text, "hybrid", 10))
    times.wall_ms.append(1000 * (perf_counter() - wall))
    times.cpu_ms.append(1000 * (process_time() - cpu))


def _cold(base: KnowledgeBase, text: str) -> tuple[Times, Times]:
    command = search_command(base.config_path, "hybrid", text)
    place = command.index("--config")
    unread = [*command[:place], "--set", _UNREAD, *command[place:]]
    times = run_in_turns({"with": command, "without": unread}, COLD_ROUNDS)
    return times["with"], times["without"]


def _ingests(data: Path) -> tuple[Times, Times]:
    """Ingests of nothing known, both ways in turns; the first pair does not count."""
    times = Times([], []), Times([], [])
    models = f'model_dir = "{installed_models()}"\n'
    with _documents(data, INGESTED // len(SETS)) as documents:
        for number in range(INGEST_ROUNDS + 1):
            for of_kind, settings in zip(times, ("", _WITHOUT_SENTENCES), strict=True):
                with knowledge_base(documents, settings=models + settings) as base, step(f"ingest {number}"):
                    wall, cpu = perf_counter(), process_time()
                    base.ingest(embed=True)
                    if number:
                        of_kind.wall_ms.append(1000 * (perf_counter() - wall))
                        of_kind.cpu_ms.append(1000 * (process_time() - cpu))
    return times
