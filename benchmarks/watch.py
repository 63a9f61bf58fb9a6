"""What calls of the command line take with a `kb watch` and without; 5,000 calls from eight shells beside ingests.

It needs the installed model: KB_TEST_MODEL_DIR names its directory.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from benchmarks.embedded_base import embedded
from benchmarks.generated_notes import write_notes
from benchmarks.knowledge_base import KnowledgeBase
from benchmarks.measurement import Measurement, Table, Target
from benchmarks.processes import ask_command, environment, memory_of, process_tree, run_in_turns, search_command
from benchmarks.progress import step

NOTES = 100
ROUNDS = 20
ANSWER = "# Ledger\n\nThe lanterns restored the harbor ledger before winter.\n"
QUESTION = "which {round} lanterns restored the harbor ledger"
"""Answered by one note. Another one each round: a process that stays keeps the encoding of a question."""

CLOSE_QUESTION = "why the {round} meadows measured a silver bridge"
"""Answered by none: the first notes score nearly the same, so that the judge reads them."""

MOST_TIMES_PASS = 3.0
CALLS = 5_000
SHELLS = 8
MOST_IDLE_MB = 120

WITHOUT = "/nowhere"
"""A runtime directory without a socket."""


def measure(data: Path | None = None) -> Measurement:
    """Medians of whole processes, in turns; then how many of many calls were answered wrongly or not at all."""
    with tempfile.TemporaryDirectory(prefix="kb-benchmark-") as folder:
        write_notes(Path(folder), NOTES, korean_share=0.5)
        numbered = {f"zebra{number}": f"numbered/{number}.md" for number in range(50)}
        (Path(folder) / "numbered").mkdir()
        for word, path in numbered.items():
            (Path(folder) / path).write_text(f"# Animal\n\nThe {word} sleeps.\n", encoding="utf-8")
        (Path(folder) / "ledger.md").write_text(ANSWER, encoding="utf-8")
        with embedded(Path(folder), "watch") as base, watching(base) as watcher:
            idle_mb = memory_of(watcher).resident_mb
            wait_until_warm(base)
            commands = {
                "search, words and meaning": search_command(base.config_path, "hybrid", QUESTION),
                "search, two hits read": search_command(base.config_path, "hybrid", CLOSE_QUESTION),
                "search, words": search_command(base.config_path, "lexical", QUESTION),
                "ask, no model": ask_command(base.config_path, "extractive", QUESTION),
            }
            nothing = [sys.executable, "-c", "print(0)"]
            cold = {f"{name}, cold": ["env", f"XDG_RUNTIME_DIR={WITHOUT}", *each] for name, each in commands.items()}
            with step(f"{ROUNDS} rounds"):
                times = run_in_turns({"python": nothing, **commands, **cold}, ROUNDS)
            warm_mb = sum(memory_of(pid).own_mb for pid, _, _ in process_tree(watcher))
            with step(f"{CALLS} calls"):
                began = time.perf_counter()
                wrong = _wrong_answers(base, numbered)
                seconds = time.perf_counter() - began
    least = min(times["python"].wall_ms)
    rows = tuple(
        (name, round(each.median_ms, 1), round(min(each.wall_ms), 1), round(min(each.wall_ms) / least, 2))
        for name, each in times.items()
    )
    return Measurement(
        "watch",
        (
            Table("Whole processes", ("command", "median ms", "least ms", "least, × python"), rows),
            Table(
                f"{CALLS:,} searches from {SHELLS} shells beside ingests",
                ("seconds", "wrong or lost", "watch alone MB", "with models, own MB"),
                ((round(seconds), wrong, round(idle_mb), round(warm_mb)),),
            ),
        ),
        (
            Target(
                "hybrid search / python",
                round(min(times["search, words and meaning"].wall_ms) / least, 2),
                "≤",
                MOST_TIMES_PASS,
            ),
            Target("wrong or lost", wrong, "≤", 0),
            Target("MB without models", round(idle_mb), "≤", MOST_IDLE_MB),
        ),
    )


@contextmanager
def watching(base: KnowledgeBase) -> Iterator[int]:
    """The process number of a `kb watch`; calls made meanwhile find it."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="kb-") as runtime:
        before = os.environ.get("XDG_RUNTIME_DIR")
        os.environ["XDG_RUNTIME_DIR"] = runtime
        process = subprocess.Popen(_call(base, "watch"), env=environment(), stdout=subprocess.PIPE)
        try:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(5)  # it compares the files once
            yield process.pid
        finally:
            process.terminate()
            process.communicate()
            del os.environ["XDG_RUNTIME_DIR"]
            if before is not None:
                os.environ["XDG_RUNTIME_DIR"] = before


def wait_until_warm(base: KnowledgeBase) -> None:
    """Calls until a call has been handed over. Raises: TimeoutError."""
    code = "import os, sys; from kb.cli.entry import hand_over; os._exit(hand_over(sys.argv[1:]) is None)"
    command = [sys.executable, "-c", code, "--config", str(base.config_path), "search", QUESTION]
    for _ in range(60):
        if subprocess.run(command, env=environment(), stdout=subprocess.DEVNULL, check=False).returncode == 0:
            time.sleep(1)
            return
        time.sleep(0.5)
    raise TimeoutError("kb watch takes no calls")


def _wrong_answers(base: KnowledgeBase, numbered: dict[str, str]) -> int:
    words = list(numbered)

    def ask(number: int) -> bool:
        word = words[number % len(words)]
        command = _call(base, "search", word, "-k", "1", "--format", "paths")
        said = subprocess.run(command, env=environment(), capture_output=True, timeout=120, check=False)
        return said.returncode == 0 and said.stdout.decode().rstrip("\n").endswith(numbered[word])

    def change() -> None:
        for number in range(CALLS // 100):
            (base.root / "churn.md").write_text(f"# Churn\n\nRevision {number} of the ledger.\n", encoding="utf-8")
            time.sleep(2)

    with ThreadPoolExecutor(SHELLS + 1) as pool:
        changing = pool.submit(change)
        wrong = sum(not right for right in pool.map(ask, range(CALLS)))
        changing.result()
    return wrong


def _call(base: KnowledgeBase, *words: str) -> list[str]:
    script = "from kb.cli.entry import run; run()"
    return [sys.executable, "-c", script, "--config", str(base.config_path), *words]
