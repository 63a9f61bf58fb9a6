"""`python -m benchmarks NAME [--data DIR]`: runs one benchmark, or `all`, and prints its tables and one JSON line.

The rows that matter are copied into benchmarks/RESULTS.md by hand, below the command that prints them.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from benchmarks.machine import machine
from benchmarks.measurement import Measurement
from benchmarks.parent import end_with_parent
from benchmarks.registry import BENCHMARKS, IN_SETS, LONG, SAMPLED, run_benchmark


def main(arguments: list[str]) -> int:
    """Runs what was asked for; 1 when a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", nargs="?", choices=[*BENCHMARKS, "all"], help="the benchmark to run")
    parser.add_argument("--list", action="store_true", help="list the benchmarks")
    parser.add_argument("--data", type=Path, metavar="DIR", help="the folder of the judged sets")
    parser.add_argument("--runs", type=Path, metavar="DIR", help="retrieval: write each run there as a TSV file")
    parser.add_argument("--modes", default="lexical", metavar="MODE,…", help="retrieval: lexical, vector, hybrid")
    parser.add_argument("--sets", metavar="SET,…", help=f"{', '.join(IN_SETS)}: these sets of questions alone")
    parser.add_argument(
        "--questions", type=int, metavar="N", help=f"{', '.join(SAMPLED)}: ask so many of each set (0: all)"
    )
    options = parser.parse_args(arguments)
    if options.list:
        print("\n".join(f"{name:11} {purpose}" for name, purpose in BENCHMARKS.items()))
        return 0
    if options.name is None:
        parser.error("name a benchmark, or ask for the --list")
    if options.name == "retrieval" and options.data is None:
        parser.error("retrieval needs --data DIR")
    names = [options.name]
    if options.name == "all":
        names = [name for name in BENCHMARKS if name not in LONG and (name != "retrieval" or options.data)]
    own: dict[str, dict[str, object]] = {
        "retrieval": {"modes": tuple(options.modes.split(",")), "runs": options.runs},
    }
    if options.questions is not None:
        for name in SAMPLED:
            own.setdefault(name, {})["questions"] = options.questions
    if options.sets is not None:
        for name in IN_SETS:
            own.setdefault(name, {})["sets"] = tuple(options.sets.split(","))
    print(machine(), flush=True)
    results = [_run_apart(name, options.data, own.get(name, {})) for name in names]
    return 0 if all(result.met for result in results) else 1


def _run_apart(name: str, data: Path | None, own_options: Mapping[str, object]) -> Measurement:
    """Runs one benchmark in a process of its own, so that none finds what another has loaded."""
    with ProcessPoolExecutor(1, get_context("spawn"), end_with_parent, (os.getpid(),)) as pool:
        result = pool.submit(run_benchmark, name, data, **own_options).result()
    print(result.to_markdown(), end="\n\n")
    print(result.to_json(), flush=True)
    return result


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
