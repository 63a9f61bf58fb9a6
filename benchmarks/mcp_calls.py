"""The agents' door for a day: many calls of one server, its memory by tenths; one call over 10,000 passages.

Questions are words of the notes, which are made up.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from benchmarks.embedded_base import embedded
from benchmarks.generated_notes import write_notes
from benchmarks.knowledge_base import knowledge_base
from benchmarks.mcp import in_turns, looped, passages_of
from benchmarks.measurement import Measurement, Table, Target
from benchmarks.progress import step

NOTES, LOOP_NOTES = 3_340, 300
CALLS, TENTHS = 100_000, 10
QUESTIONS = 30


def measure(data: Path | None = None, *, notes: int = NOTES, calls: int = CALLS) -> Measurement:
    """Latency of a search over many passages, and memory over many calls."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_notes(root, LOOP_NOTES, korean_share=0.4)
        words = _words(root)
        with knowledge_base(root, settings='\n[models.embedding]\nprovider = "none"') as base:
            base.ingest()
            with step(f"{calls:,} calls in a loop"):
                memory = asyncio.run(looped(base, words, calls, TENTHS))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_notes(root, notes, korean_share=0.4)
        words = _words(root)
        with embedded(root, f"{notes:,} notes") as base, step("one call at a time"):
            first_s, direct, called, held = asyncio.run(in_turns(base, words))
            passages = passages_of(base)
    ratio = round(called / direct, 2)
    growth = round(memory[-1] / memory[1], 3)
    return Measurement(
        "mcp_calls",
        (
            Table(
                f"A warm search, hybrid, over {passages:,} passages",
                ("by", "p50 ms", "ratio"),
                (("Python", round(direct, 1), 1.0), ("stdio", round(called, 1), ratio)),
            ),
            Table(
                "Resident memory of that server, MB",
                ("what", "MB"),
                (
                    ("all", round(held.resident_mb)),
                    ("files that it maps", round(held.mapped_mb)),
                    ("its own", round(held.resident_mb - held.mapped_mb)),
                ),
            ),
            Table(
                "Resident memory of the server without models, MB",
                ("after calls", "MB"),
                tuple((f"{calls * (at + 1) // TENTHS:,}", round(mb, 1)) for at, mb in enumerate(memory)),
            ),
        ),
        (
            Target("stdio / Python, p50", ratio, "≤", 1.2),
            Target("stdio, p50 ms", round(called, 1), "≤", 30),
            Target("first answer after the start, s", round(first_s, 2), "≤", 2),
            Target("memory of its own with models, MB", round(held.resident_mb - held.mapped_mb), "≤", 400),
            Target("memory of the last tenth of calls / the second", growth, "≤", 1.05),
        ),
        {"passages": passages, "calls": calls},
        (),
    )


def _words(root: Path) -> list[str]:
    """The beginning of a paragraph of some notes."""
    files = sorted(root.rglob("*.md"))[:: max(1, len(list(root.rglob("*.md"))) // QUESTIONS)][:QUESTIONS]
    return [" ".join(file.read_text(encoding="utf-8").split("\n\n")[1].split()[:8]) for file in files]
