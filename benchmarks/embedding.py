"""What vectors cost: bulk embedding against the same weights in 4-bit products and padded batches, run directly and by
a bare fastembed loop; an ingest that embeds, and the same ingest again with every vector cached.

Texts are notes of one or two passages: Cranfield's with --data, made-up ones in both languages without. It needs the
installed models: KB_TEST_MODEL_DIR names their directory.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

from benchmarks.four_bit_encoder import PaddedEncoder, four_bit_copy
from benchmarks.generated_notes import write_notes
from benchmarks.installed_models import installed_models
from benchmarks.knowledge_base import KnowledgeBase, knowledge_base
from benchmarks.measurement import Measurement, Table, Target
from benchmarks.progress import step
from kb.config.sections import EmbeddingConfig
from kb.embed.adapters import bulk_embedder
from kb.embed.installed.onnx_adapter import PREFIXES
from kb.embed.model_files import E5_SMALL
from kb.operations.embedding.batch_vectors import steps

NOTES, TEXTS, ROUNDS = 1_400, 64, 4
THREADS = 2
# fastembed's own default is 256; smaller batches pad less, and the fastest of them is what counts.
FASTEMBED_BATCHES = (8, 32)

FOUR_BITS = "4-bit, padded batches"

LEAST_TIMES_FOUR_BITS = 3.0
LEAST_COSINE = 0.997
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
    """Both ingests first, so that their peak memory is their own; then the embedders in turns."""
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
    with tempfile.TemporaryDirectory(prefix="kb-benchmark-") as folder:
        four_bits = four_bit_copy(models / E5_SMALL, Path(folder))
        costs, cosine = _in_turns(models, four_bits, _spread(texts, TEXTS))
    return _measurement(first, again, peak_mb, costs, cosine)


def _measurement(first: Cost, again: Cost, peak_mb: float, costs: dict[str, Cost], cosine: float) -> Measurement:
    times = round(costs[FOUR_BITS].cpu_s / costs["kb"].cpu_s, 2)
    cached = round(first.wall_s / again.wall_s, 1)
    ingests = (("first", first), ("all cached", again))
    return Measurement(
        "embedding",
        (
            Table(
                f"Bulk embedding, {TEXTS} passages, {THREADS} threads",
                ("by", "texts/s", "texts per CPU s"),
                tuple(
                    (name, round(TEXTS / cost.wall_s, 1), round(TEXTS / cost.cpu_s, 1)) for name, cost in costs.items()
                ),
            ),
            Table(
                f"Ingest with both models, {NOTES} notes",
                ("ingest", "s", "CPU s", "cores at work"),
                tuple(
                    (name, round(cost.wall_s, 2), round(cost.cpu_s, 2), round(cost.cores, 2)) for name, cost in ingests
                ),
            ),
        ),
        (
            Target("texts per CPU s, kb / 4-bit", times, "≥", LEAST_TIMES_FOUR_BITS),
            Target("least cosine of a passage's two vectors", round(cosine, 4), "≥", LEAST_COSINE),
            Target("ingest with all vectors cached, times faster", cached, "≥", LEAST_TIMES_FASTER_CACHED),
            Target("cores at work in an ingest that embeds", round(first.cores, 2), "≥", LEAST_CORES),
            Target("peak memory of an ingest that embeds, MB", round(peak_mb), "≤", MOST_PEAK_MB),
        ),
        {
            "cosine": cosine,
            "bulk": {name: cost._asdict() for name, cost in costs.items()},
            "ingest": {"first": first._asdict(), "cached": again._asdict(), "peak_mb": round(peak_mb)},
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


def _in_turns(models: Path, four_bits: Path, texts: Sequence[str]) -> tuple[dict[str, Cost], float]:
    """What each way of embedding the texts cost, a part of the texts at a time, so that all meet the same machine.

    And the least cosine of a text's vectors by kb and in 4 bits.
    """
    embedder = bulk_embedder(models, E5_SMALL, THREADS)
    padded = PaddedEncoder(four_bits, THREADS)
    bare = _bare_fastembed(four_bits)

    def by_kb(part: Sequence[str]) -> None:
        for some in steps(part, EmbeddingConfig.batch_size):
            embedder.embed(some, "passage")
            embedder.count_tokens(some, "passage")

    def by_fastembed(batch_size: int) -> Callable[[Sequence[str]], None]:
        def embed(part: Sequence[str]) -> None:
            for _ in bare.embed([PREFIXES["passage"] + text for text in part], batch_size=batch_size):
                pass

        return embed

    ways = {"kb": by_kb, FOUR_BITS: padded.embed} | {
        f"fastembed, batches of {size}": by_fastembed(size) for size in FASTEMBED_BATCHES
    }
    costs = dict.fromkeys(ways, Cost(0, 0))
    for way in ways.values():
        way(texts[:8])  # the first call prepares the session
    with step(f"{len(texts)} passages by each"):
        for turn in range(ROUNDS):
            for name, way in ways.items():
                cost = _cost(lambda way=way, turn=turn: way(texts[turn::ROUNDS]))  # type: ignore[misc]
                costs[name] = Cost(costs[name].wall_s + cost.wall_s, costs[name].cpu_s + cost.cpu_s)
    both = embedder.embed(texts, "passage"), padded.embed(texts)
    return costs, float((both[0] * both[1]).sum(axis=1).min())


def _bare_fastembed(directory: Path) -> Any:
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    TextEmbedding.add_custom_model(
        "kb/bare", PoolingType.MEAN, True, ModelSource(hf="kb/bare"), 384, model_file="onnx/model.onnx"
    )
    return TextEmbedding("kb/bare", specific_model_path=str(directory), threads=THREADS)


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
