"""How long a whole `kb search` takes from the shell, against Python doing nothing, and which imports weigh most.

The three commands run in turns, so that whatever else the machine does meets them alike; medians are compared.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter

from benchmarks.generated_notes import write_notes
from benchmarks.knowledge_base import knowledge_base
from benchmarks.measurement import Measurement, Table, Target

DOCUMENTS = 5_000
ROUNDS = 25
MOST_TIMES_PASS = 6.0
MOST_TIMES_ENGLISH = 1.5
SHOWN_IMPORTS = 12

QUESTIONS = {"English": "which lanterns restored the harbor ledger", "Korean": "구름동네의 여름 기록은 어디에 있나"}

# What the installed console script holds.
_SCRIPT = "import sys; from kb.cli.entry import run; sys.argv[0] = 'kb'; run()"
_IMPORT_LINE = re.compile(r"import time:\s+(\d+) \|\s+(\d+) \|\s+(\S+)")


def measure(data: Path | None = None) -> Measurement:
    """Medians of whole processes on 5,000 notes, half of them Korean."""
    with knowledge_base() as base:
        write_notes(base.root, DOCUMENTS, korean_share=0.5)
        base.ingest()
        commands = {"python -c pass": [sys.executable, "-c", "pass"]} | {
            f"kb search, {language}": _search(base.config_path, question) for language, question in QUESTIONS.items()
        }
        times_ms = _in_turns(commands)
        imports = _heaviest_imports(_search(base.config_path, QUESTIONS["English"]))
    medians = {name: statistics.median(times) for name, times in times_ms.items()}
    nothing, english, korean = medians.values()
    rows = tuple(
        (name, round(median, 1), round(min(times_ms[name]), 1), round(median / nothing, 2))
        for name, median in medians.items()
    )
    return Measurement(
        "startup",
        (
            Table(f"Whole processes, {DOCUMENTS:,} documents", ("command", "median ms", "least ms", "× python"), rows),
            Table("Heaviest imports of an English search", ("module", "own ms"), imports),
        ),
        (
            Target("English search / python -c pass", round(english / nothing, 2), "≤", MOST_TIMES_PASS),
            Target("Korean search / English search", round(korean / english, 2), "≤", MOST_TIMES_ENGLISH),
        ),
        {"documents": DOCUMENTS, "rounds": ROUNDS, "median_ms": {name: round(ms, 2) for name, ms in medians.items()}},
    )


def _search(config_path: Path, question: str) -> list[str]:
    return [sys.executable, "-c", _SCRIPT, "--config", str(config_path), "search", "--mode", "lexical", question]


def _in_turns(commands: Mapping[str, Sequence[str]]) -> dict[str, list[float]]:
    """Milliseconds of every run of every command; the first round only fills caches."""
    times_ms: dict[str, list[float]] = {name: [] for name in commands}
    for round_number in range(ROUNDS + 1):
        for name, command in commands.items():
            start = perf_counter()
            done = subprocess.run(command, capture_output=True, env=_environment(), check=False)
            elapsed_ms = 1000 * (perf_counter() - start)
            if done.returncode:
                raise RuntimeError(f"{name} failed: {done.stderr.decode()}")
            if round_number:
                times_ms[name].append(elapsed_ms)
    return times_ms


def _heaviest_imports(command: Sequence[str]) -> tuple[tuple[str, float], ...]:
    traced = [command[0], "-X", "importtime", *command[1:]]
    output = subprocess.run(traced, capture_output=True, env=_environment(), check=True, encoding="utf-8").stderr
    own_us = [(int(match[1]), match[3]) for match in _IMPORT_LINE.finditer(output)]
    return tuple((module, round(us / 1000, 1)) for us, module in sorted(own_us, reverse=True)[:SHOWN_IMPORTS])


def _environment() -> dict[str, str]:
    """As for an installed kb: its modules are compiled once, before the first round that counts."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": str(Path(__file__).parents[1])}
