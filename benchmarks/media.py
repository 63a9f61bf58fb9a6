"""The most memory an ingest of all media fixtures takes: PDF, OCR and speech, kb with all processes of its engines.

Resident memory is summed over the tree of processes, several times a second: what they share counts for each.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryFile

from benchmarks.knowledge_base import knowledge_base
from benchmarks.measurement import Measurement, Table, Target
from benchmarks.processes import environment

MEDIA = Path(__file__).resolve().parents[1] / "fixtures" / "media"
_FILES = sum(path.name != "truth.json" for path in MEDIA.rglob("*.*"))
MOST_MB = 2000
_SAMPLED_EVERY_S = 0.1

_INGEST = "import sys; from kb.cli.main import main; sys.exit(main(sys.argv[1:]))"


def measure(data: Path | None = None) -> Measurement:
    """Peak memory and time of a first ingest; the second ingest, which starts no engine, stands beside it."""
    with knowledge_base(settings=f"model_dir = {json.dumps(os.environ['KB_TEST_MODEL_DIR'])}\n") as base:
        shutil.copytree(MEDIA, base.root, dirs_exist_ok=True)
        options = ["ingest", "--no-embed", "--summary-only", "--json"]
        command = [sys.executable, "-c", _INGEST, "--config", str(base.config_path), *options]
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
    peak_mb, count = 0.0, 0
    started = time.perf_counter()
    with (
        TemporaryFile() as said,
        subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, env=environment()) as process,
    ):
        while process.poll() is None:
            resident_mb = _tree_mb(process.pid)
            if sum(resident_mb) > peak_mb:
                peak_mb, count = sum(resident_mb), len(resident_mb)
            time.sleep(_SAMPLED_EVERY_S)
        elapsed_s = time.perf_counter() - started
        said.seek(0)
        told = said.read().decode()
    if process.returncode or json.loads(told.splitlines()[-1])[expected] != _FILES:
        raise RuntimeError(told)
    return round(peak_mb), count, round(elapsed_s, 1)


def _tree_mb(root: int) -> list[float]:
    """Resident megabytes of a process and of all that came of it."""
    listed = subprocess.run(["ps", "-Ao", "pid=,ppid=,rss="], capture_output=True, text=True, check=True).stdout
    children: defaultdict[int, list[int]] = defaultdict(list)
    resident_kb: dict[int, int] = {}
    for line in listed.splitlines():
        pid, parent, kb = map(int, line.split())
        children[parent].append(pid)
        resident_kb[pid] = kb
    found, todo = [], [root]
    while todo:
        pid = todo.pop()
        found.append(resident_kb.get(pid, 0) * 1024 / 1e6)
        todo.extend(children[pid])
    return found
