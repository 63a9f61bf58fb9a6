"""The most memory an ingest of all media fixtures takes: PDF, OCR and speech, kb with all processes of its engines.

Resident memory is summed over the tree of processes, several times a second: what they share counts for each.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from benchmarks.knowledge_base import knowledge_base
from benchmarks.measurement import Measurement, Table, Target
from benchmarks.processes import main_command, watched

MEDIA = Path(__file__).resolve().parents[1] / "fixtures" / "media"
_FILES = sum(path.name != "truth.json" for path in MEDIA.rglob("*.*"))
MOST_MB = 2000


def measure(data: Path | None = None) -> Measurement:
    """Peak memory and time of a first ingest; the second ingest, which starts no engine, stands beside it."""
    with knowledge_base(settings=f"model_dir = {json.dumps(os.environ['KB_TEST_MODEL_DIR'])}\n") as base:
        shutil.copytree(MEDIA, base.root, dirs_exist_ok=True)
        options = ["ingest", "--no-embed", "--summary-only", "--json"]
        command = main_command(base.config_path, *options)
        first, second = _watched(command, "new"), _watched(command, "unchanged")
    columns = ("ingest", "peak MB", "processes at the peak", "seconds")
    return Measurement(
        name="media",
        tables=(Table("Ingest of the media fixtures", columns, (("first", *first), ("second", *second))),),
        targets=(Target("peak of all processes, MB", first[0], "≤", MOST_MB),),
        figures={"first_peak_mb": first[0], "second_peak_mb": second[0], "first_s": first[2], "second_s": second[2]},
    )


def _watched(command: list[str], expected: str) -> tuple[float, int, float]:
    """Peak megabytes of the command's processes, how many there were then, and its seconds.

    Raises RuntimeError unless all files are told as `expected`: an engine that is missing would take no memory.
    """
    peak = watched(command)
    if json.loads(peak.told.splitlines()[-1])[expected] != _FILES:
        raise RuntimeError(peak.told)
    return peak.all_mb, peak.processes, peak.seconds
