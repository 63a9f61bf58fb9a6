"""Whether the memory of an ingest stays flat: its peak on 20,000 files against that on 2,000, and on one large file.

The large file is as large as kb reads Markdown, in every shape that costs a parser differently.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter

from benchmarks.generated_notes import write_notes
from benchmarks.knowledge_base import knowledge_base
from benchmarks.markdown_shapes import SHAPES, file_of
from benchmarks.measurement import Measurement, Table, Target
from kb.config.keys import IndexingConfig

FEW, MANY = 2_000, 20_000
MOST_TIMES_FEW = 1.3
MOST_MB_FOR_A_FILE = 600

# On Linux ru_maxrss also remembers the process this one was forked from; VmHWM does not. On macOS it counts bytes.
_CHILD = """
import json, re, resource, sys
from kb.cli.main import main
code = main(["--config", sys.argv[1], "ingest", "--no-embed", "--summary-only", "--json"])
if sys.platform == "linux":
    peak = 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
else:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"code": code, "peak_bytes": peak}))
"""


def measure(data: Path | None = None) -> Measurement:
    """Peak resident memory of a first and of a second ingest, and of one for each shape of a large file."""
    peaks = {count: _peaks_mb(count) for count in (FEW, MANY)}
    rows = tuple((count, round(first, 1), round(second, 1)) for count, (first, second) in peaks.items())
    ratios = [round(many / few, 2) for few, many in zip(peaks[FEW], peaks[MANY], strict=True)]
    shapes = {shape: _shape_row(shape) for shape in SHAPES}
    highest_mb = max(peak_mb for peak_mb, _ in shapes.values())
    return Measurement(
        "memory",
        (
            Table("Peak resident memory", ("files", "first ingest MB", "second ingest MB"), rows),
            Table(
                f"One Markdown file of {IndexingConfig().max_markdown_mb} MB",
                ("shape", "peak MB", "s"),
                tuple((shape, *row) for shape, row in shapes.items()),
            ),
        ),
        (
            Target(f"first ingest, {MANY:,} files / {FEW:,} files", ratios[0], "≤", MOST_TIMES_FEW),
            Target(f"second ingest, {MANY:,} files / {FEW:,} files", ratios[1], "≤", MOST_TIMES_FEW),
            Target("one Markdown file as large as kb reads, peak MB", highest_mb, "≤", MOST_MB_FOR_A_FILE),
        ),
        {
            "peak_mb": {str(count): {"first": row[0], "second": row[1]} for count, *row in rows},
            "one_file_peak_mb": {shape: peak_mb for shape, (peak_mb, _) in shapes.items()},
        },
    )


def _peaks_mb(count: int) -> tuple[float, float]:
    with knowledge_base() as base:
        write_notes(base.root, count, korean_share=0)
        first, second = _peak(base.config_path)[0], _peak(base.config_path)[0]
        print(f"{count:,} files: {first:.1f} MB, again {second:.1f} MB", file=sys.stderr, flush=True)
        return first, second


def _shape_row(shape: str) -> tuple[float, float]:
    """Peak megabytes and seconds of an ingest of one file, as large as kb reads Markdown.

    Raises RuntimeError where the file is not indexed: a file that is refused would take no memory.
    """
    with knowledge_base() as base:
        text = file_of(shape, base.config.indexing.max_markdown_mb * 1_000_000)
        (base.root / "large.md").write_text(text, encoding="utf-8")
        started = perf_counter()
        peak_mb, report = _peak(base.config_path)
        if report["new"] != 1:
            raise RuntimeError(f"{shape}: {report}")
        taken_s = perf_counter() - started
        print(f"{shape}: {peak_mb:.1f} MB, {taken_s:.1f} s", file=sys.stderr, flush=True)
        return round(peak_mb, 1), round(taken_s, 1)


def _peak(config_path: Path) -> tuple[float, dict[str, int]]:
    """Peak megabytes of `kb ingest` in a process of its own, and its report."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-c", _CHILD, str(config_path)]
    done = subprocess.run(command, capture_output=True, env=environment, encoding="utf-8")
    *_, report, outcome = map(json.loads, done.stdout.splitlines())
    if outcome["code"]:
        raise RuntimeError(f"{report}{done.stderr}")
    return outcome["peak_bytes"] / 1e6, report
