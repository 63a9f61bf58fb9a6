"""The most memory an ingest with vectors takes: one large Markdown file, by the installed encoders."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks.installed_models import installed_models
from benchmarks.knowledge_base import knowledge_base
from benchmarks.markdown_shapes import file_of
from benchmarks.measurement import Measurement, Table, Target
from benchmarks.memory import MOST_MB_FOR_A_FILE
from benchmarks.processes import Peak, main_command, watched

SHAPES = ("Korean prose", "table")


def measure(data: Path | None = None) -> Measurement:
    """Peak resident memory of a first ingest of a file as large as kb reads Markdown, for each shape."""
    peaks = {shape: _peak(shape) for shape in SHAPES}
    rows = tuple((shape, peak.one_mb, peak.all_mb, peak.seconds) for shape, peak in peaks.items())
    highest_mb = max(peak.one_mb for peak in peaks.values())
    return Measurement(
        "embedded_memory",
        (
            Table(
                "One Markdown file, with vectors",
                ("shape", "peak of one process MB", "peak of all MB", "s"),
                rows,
            ),
        ),
        (
            Target(
                "one Markdown file as large as kb reads, peak MB of one process", highest_mb, "≤", MOST_MB_FOR_A_FILE
            ),
        ),
        {"peak_mb": {shape: {"one": peak.one_mb, "all": peak.all_mb} for shape, peak in peaks.items()}},
    )


def _peak(shape: str) -> Peak:
    """Raises RuntimeError where the file does not get its vectors: without them it takes less memory."""
    with knowledge_base(settings=f"model_dir = {json.dumps(str(installed_models()))}") as base:
        text = file_of(shape, base.config.indexing.max_markdown_mb * 1_000_000)
        (base.root / "large.md").write_text(text, encoding="utf-8")
        peak = watched(main_command(base.config_path, "ingest", "--summary-only", "--json"))
        report = json.loads(peak.told.splitlines()[-1])
        if report["new"] != 1 or not report["embeddings_indexed"]:
            raise RuntimeError(peak.told)
        print(f"{shape}: {peak.one_mb} MB, {peak.seconds} s", file=sys.stderr, flush=True)
        return peak
