"""What vectors and tokens cost: an ingest that embeds against its encoder alone, the same ingest with all of it cached,
and how well the ways of encoding agree.

Texts are notes of one or two passages: Cranfield's with --data, made-up ones in both languages without. It needs the
installed model: KB_TEST_MODEL_DIR names its directory.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import sqlite3
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import NamedTuple, TypeVar

from benchmarks.generated_notes import write_notes
from benchmarks.installed_models import installed_models
from benchmarks.knowledge_base import KnowledgeBase, knowledge_base
from benchmarks.measurement import Measurement, Table, Target
from benchmarks.progress import step
from kb.config.keys import EmbeddingConfig
from kb.embed.encoders import bulk_embedder, embedding_model, query_encoder
from kb.embed.installed.encoder import open_installed_embedder
from kb.models.manifest import ENCODER
from kb.operations.embedding.batch_vectors import steps

NOTES, TEXTS, ROUNDS = 1_400, 64, 4
THREADS = 2

MOST_TIMES_THE_ENCODER = 1.35
LEAST_COSINE = 0.9998
LEAST_TIMES_FASTER_CACHED = 50
LEAST_CORES = 1.9
MOST_PEAK_MB = 1_500


Item = TypeVar("Item")


class Cost(NamedTuple):
    """Seconds on the clock and on the processors."""

    wall_s: float
    cpu_s: float

    @property
    def cores(self) -> float:
        """How many cores were at work at once, on average: no more than were free."""
        return self.cpu_s / self.wall_s


def measure(data: Path | None = None) -> Measurement:
    """Both ingests first, so that their peak memory is their own; then the encoder on the same passages."""
    models = installed_models()
    with knowledge_base(settings=f'model_dir = "{models}"') as base:
        _fill(base.root, data, 2)
        base.ingest(embed=True)  # what a process imports once is no part of either ingest
    with knowledge_base(settings=f'model_dir = "{models}"') as base:
        _fill(base.root, data, NOTES)
        with step(f"{NOTES} notes, first ingest"):
            first = _cost(lambda: base.ingest(embed=True))
        peak_mb = _peak_mb()
        shutil.rmtree(base.config.sqlite.parent)
        with step(f"{NOTES} notes, all vectors cached"):
            again = _cost(lambda: base.ingest(embed=True))
        texts = _passages(base)
    with step(f"{len(texts)} passages, the encoder alone"):
        alone = _encoder_alone(models, texts)
    some = _spread(texts, TEXTS)
    return _measurement(first, again, peak_mb, alone, _in_turns(models, some), _least_cosine(models, some))


def _measurement(
    first: Cost, again: Cost, peak_mb: float, alone: Cost, ways: dict[str, Cost], cosine: float
) -> Measurement:
    times = round(first.cpu_s / alone.cpu_s, 2)
    cached = round(first.wall_s / again.wall_s, 1)
    costs = (("first ingest", first), ("all cached", again), ("the encoder alone", alone))
    return Measurement(
        "embedding",
        (
            Table(
                f"{NOTES} notes, {THREADS} threads",
                ("what", "s", "CPU s", "cores at work"),
                tuple(
                    (name, round(cost.wall_s, 2), round(cost.cpu_s, 2), round(cost.cores, 2)) for name, cost in costs
                ),
            ),
            Table(
                f"Bulk embedding, {TEXTS} passages, {THREADS} threads",
                ("by", "texts/s", "texts per CPU s"),
                tuple(
                    (name, round(TEXTS / cost.wall_s, 1), round(TEXTS / cost.cpu_s, 1)) for name, cost in ways.items()
                ),
            ),
        ),
        (
            Target("CPU s of an ingest / of its encoder", times, "≤", MOST_TIMES_THE_ENCODER),
            Target("least cosine of a passage's vectors: bulk, cold and warm", round(cosine, 5), "≥", LEAST_COSINE),
            Target("ingest with all vectors cached, times faster", cached, "≥", LEAST_TIMES_FASTER_CACHED),
            Target("cores at work in an ingest that embeds", round(first.cores, 2), "≥", LEAST_CORES),
            Target("peak memory of an ingest that embeds, MB", round(peak_mb), "≤", MOST_PEAK_MB),
        ),
        {
            "cosine": cosine,
            "bulk": {name: cost._asdict() for name, cost in ways.items()},
            "ingest": {"first": first._asdict(), "cached": again._asdict(), "peak_mb": round(peak_mb)},
            "alone": alone._asdict(),
        },
    )


def _fill(folder: Path, data: Path | None, count: int) -> None:
    if data is None:
        write_notes(folder, count, korean_share=0.5)
        return
    notes = sorted((data / "cranfield" / "corpus").rglob("*.md"))
    for number, note in enumerate(_spread(notes, count)):
        shutil.copy(note, folder / f"{number}.md")


def _passages(base: KnowledgeBase) -> list[str]:
    with closing(sqlite3.connect(base.config.sqlite)) as db:
        return [text for (text,) in db.execute("SELECT text FROM chunks ORDER BY chunk_rowid")]


def _spread(items: Sequence[Item], count: int) -> list[Item]:
    """`count` items in even steps."""
    return [items[number * len(items) // count] for number in range(min(count, len(items)))]


def _encoder_alone(models: Path, texts: Sequence[str]) -> Cost:
    """The vectors of all passages, by the bulk encoder, in the steps of an ingest."""
    embedder = bulk_embedder(models, ENCODER, THREADS)
    embedder.embed(texts[:8], "passage")  # the first call prepares the session

    def embed() -> None:
        for some in steps(texts, EmbeddingConfig.batch_size):
            embedder.embed(some, "passage")

    return _cost(embed)


def _in_turns(models: Path, texts: Sequence[str]) -> dict[str, Cost]:
    """What vectors alone cost, and with tokens; a part of the texts at a time, so that both meet the same machine."""
    embedder = open_installed_embedder(models / ENCODER, embedding_model(models, ENCODER), THREADS)
    ways: dict[str, Callable[[Sequence[str]], object]] = {
        "vectors": lambda part: embedder.embed(part, "passage"),
        "vectors and tokens": embedder.embed_passages,
    }
    costs = dict.fromkeys(ways, Cost(0, 0))
    for way in ways.values():
        way(texts[:8])
    with step(f"{len(texts)} passages by each"):
        for turn in range(ROUNDS):
            for name, way in ways.items():
                cost = _cost(lambda way=way, turn=turn: way(texts[turn::ROUNDS]))  # type: ignore[misc]
                costs[name] = Cost(costs[name].wall_s + cost.wall_s, costs[name].cpu_s + cost.cpu_s)
    return costs


def _least_cosine(models: Path, texts: Sequence[str]) -> float:
    """Of the bulk encoder's vectors and those of the query encoders, cold and warm."""
    import numpy as np

    bulk = bulk_embedder(models, ENCODER, THREADS).embed(texts, "query")
    least = 1.0
    for many in (False, True):
        encoder = query_encoder(models, ENCODER, many=many)
        vectors = np.stack([np.frombuffer(encoder.encode(text).vector, "<f4") for text in texts])
        least = min(least, float((bulk * vectors).sum(axis=1).min()))
    return least


def _cost(work: Callable[[], object]) -> Cost:
    wall, cpu = perf_counter(), _cpu_s()
    work()
    return Cost(perf_counter() - wall, _cpu_s() - cpu)


def _cpu_s() -> float:
    """Processor seconds of this process and of those that it began and that ended: files are read in some."""
    return sum(os.times()[:4])


def _peak_mb() -> float:
    """The most memory this process has held. On Linux ru_maxrss also remembers the process it was forked from."""
    if sys.platform == "linux":
        match = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text(encoding="utf-8"))
        assert match
        return int(match[1]) * 1024 / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
