"""Whether the memory of an ingest stays flat: its peak on 20,000 files against that on 2,000."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.generated_notes import write_notes
from benchmarks.knowledge_base import knowledge_base
from benchmarks.measurement import Measurement, Table, Target

FEW, MANY = 2_000, 20_000
MOST_TIMES_FEW = 1.3

# On Linux ru_maxrss also remembers the process this one was forked from; VmHWM does not. On macOS it counts bytes.
_CHILD = """
import json, re, resource, sys
from kb.cli.main import main
code = main(["--config", sys.argv[1], "ingest", "--no-embed", "--summary-only"])
if sys.platform == "linux":
    peak = 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
else:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"code": code, "peak_bytes": peak}))
"""


def measure(data: Path | None = None) -> Measurement:
    """Peak resident memory of a first and of a second ingest, each in a process of its own."""
    peaks = {count: _peaks_mb(count) for count in (FEW, MANY)}
    rows = tuple((count, round(first, 1), round(second, 1)) for count, (first, second) in peaks.items())
    ratios = [round(many / few, 2) for few, many in zip(peaks[FEW], peaks[MANY], strict=True)]
    return Measurement(
        "memory",
        (Table("Peak resident memory", ("files", "first ingest MB", "second ingest MB"), rows),),
        (
            Target(f"first ingest, {MANY:,} files / {FEW:,} files", ratios[0], "≤", MOST_TIMES_FEW),
            Target(f"second ingest, {MANY:,} files / {FEW:,} files", ratios[1], "≤", MOST_TIMES_FEW),
        ),
        {"peak_mb": {str(count): {"first": row[0], "second": row[1]} for count, *row in rows}},
    )


def _peaks_mb(count: int) -> tuple[float, float]:
    with knowledge_base() as base:
        write_notes(base.root, count, korean_share=0)
        return _peak_mb(base.config_path), _peak_mb(base.config_path)


def _peak_mb(config_path: Path) -> float:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-c", _CHILD, str(config_path)]
    done = subprocess.run(command, capture_output=True, env=environment, check=True, encoding="utf-8")
    outcome = json.loads(done.stdout.splitlines()[-1])
    if outcome["code"]:
        raise RuntimeError(done.stderr)
    return float(outcome["peak_bytes"]) / 1e6
