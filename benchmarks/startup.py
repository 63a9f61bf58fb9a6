"""How long a whole `kb search` takes from the shell, against Python doing nothing, and which imports weigh most.

The commands run in turns; medians are compared. Tab completes the beginning of a command, as a shell asks for it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.generated_notes import write_notes
from benchmarks.knowledge_base import knowledge_base
from benchmarks.measurement import Measurement, Table, Target
from benchmarks.processes import environment, run_in_turns, search_command

DOCUMENTS = 5_000
ROUNDS = 25
MOST_TIMES_PASS = 6.5
MOST_TIMES_ENGLISH = 1.12
SHOWN_IMPORTS = 12

QUESTIONS = {"English": "which lanterns restored the harbor ledger", "Korean": "구름동네의 여름 기록은 어디에 있나"}

TAB = "Tab after kb sea"
# What no command can do without: the parser of the command line and the door to SQLite.
PYTHON, LIBRARIES = "python", "import click, apsw"
COMPLETED = ("_KB_COMPLETE=bash_complete", "COMP_WORDS=kb sea", "COMP_CWORD=1")

_IMPORT_LINE = re.compile(r"import time:\s+(\d+) \|\s+(\d+) \|\s+(\S+)")


def measure(data: Path | None = None) -> Measurement:
    """Medians of whole processes on 5,000 notes, half of them Korean."""
    with knowledge_base() as base:
        write_notes(base.root, DOCUMENTS, korean_share=0.5)
        base.ingest()
        bare = {PYTHON: "print(0)", LIBRARIES: f"{LIBRARIES}; print(0)"}  # whoever says nothing has failed
        commands = {name: [sys.executable, "-c", program] for name, program in bare.items()} | {
            f"kb search, {language}": search_command(base.config_path, "lexical", question)
            for language, question in QUESTIONS.items()
        }
        commands[TAB] = ["env", *COMPLETED, *search_command(base.config_path, "lexical", "")[:3]]
        times = run_in_turns(commands, ROUNDS)
        imports = _heaviest_imports(search_command(base.config_path, "lexical", QUESTIONS["English"]))
    medians = {name: of_command.median_ms for name, of_command in times.items()}
    nothing, _, english, korean, tab = medians.values()
    rows = tuple(
        (name, round(median, 1), round(min(times[name].wall_ms), 1), round(median / nothing, 2))
        for name, median in medians.items()
    )
    return Measurement(
        "startup",
        (
            Table(f"Whole processes, {DOCUMENTS:,} documents", ("command", "median ms", "least ms", "× python"), rows),
            Table("Heaviest imports of an English search", ("module", "own ms"), imports),
        ),
        (
            Target("English search / python", round(english / nothing, 2), "≤", MOST_TIMES_PASS),
            Target("Tab / python", round(tab / nothing, 2), "≤", MOST_TIMES_PASS),
            Target("Korean search / English search", round(korean / english, 2), "≤", MOST_TIMES_ENGLISH),
        ),
        {"documents": DOCUMENTS, "rounds": ROUNDS, "median_ms": {name: round(ms, 2) for name, ms in medians.items()}},
    )


def _heaviest_imports(command: Sequence[str]) -> tuple[tuple[str, float], ...]:
    traced = [command[0], "-X", "importtime", *command[1:]]
    output = subprocess.run(traced, capture_output=True, env=environment(), check=True, encoding="utf-8").stderr
    own_us = [(int(match[1]), match[3]) for match in _IMPORT_LINE.finditer(output)]
    return tuple((module, round(us / 1000, 1)) for us, module in sorted(own_us, reverse=True)[:SHOWN_IMPORTS])
