"""`python -m benchmarks NAME [--data DIR]`: runs one benchmark, or `all`, and prints its tables and one JSON line."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from benchmarks.measurement import Measurement
from benchmarks.parent import end_with_parent
from benchmarks.registry import BENCHMARKS, LONG, SAMPLED, run_benchmark

_PAGE = """\
# Performance

Written by `python -m benchmarks NAME --data DIR --write docs/performance.md`, one section per benchmark. What counts
are the ratios and the targets: both sides of a ratio are measured in the same run, in turns. Searches and ingests are
without vectors where nothing else is said. What was aimed at and is not reached, and where the time or the memory goes
instead, is in [limits.md](limits.md). Each section ends with the processor it was measured on.

{machine}
"""

# What docs/quality.md is made of.
_OF_QUALITY = ("quality", "reading")
_QUALITY_PAGE = """\
# Quality

What is found and answered on the development sets: written by `python -m benchmarks NAME --data DIR --write
docs/quality.md`, one section per benchmark (`quality`: what `kb eval run` measures; `reading`: questions in an owner's
own words, by kind). Of the judged sets a part is asked, in even steps; an interval is that of a paired bootstrap over
questions. How passages are ranked and answers judged is in [retrieval.md](retrieval.md) and
[answers.md](answers.md).

{machine}
"""


def main(arguments: list[str]) -> int:
    """Runs what was asked for; 1 when a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", nargs="?", choices=[*BENCHMARKS, "all"], help="the benchmark to run")
    parser.add_argument("--list", action="store_true", help="list the benchmarks")
    parser.add_argument("--data", type=Path, metavar="DIR", help="the folder of the judged sets")
    parser.add_argument("--runs", type=Path, metavar="DIR", help="retrieval: write each run there as a TSV file")
    parser.add_argument("--modes", default="lexical", metavar="MODE,…", help="retrieval: lexical, vector, hybrid")
    parser.add_argument(
        "--questions", type=int, metavar="N", help=f"{', '.join(SAMPLED)}: ask so many of each set (0: all)"
    )
    parser.add_argument(
        "--write", type=Path, metavar="FILE", help="put the tables into a Markdown page, in place of theirs"
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
    results = [_run_apart(name, options.data, own.get(name, {})) for name in names]
    if options.write:
        old = options.write.read_text(encoding="utf-8") if options.write.exists() else ""
        options.write.write_text(page(old, results), encoding="utf-8")
    return 0 if all(result.met for result in results) else 1


def _run_apart(name: str, data: Path | None, own_options: Mapping[str, object]) -> Measurement:
    """Runs one benchmark in a process of its own, so that none finds what another has loaded."""
    with ProcessPoolExecutor(1, get_context("spawn"), end_with_parent, (os.getpid(),)) as pool:
        result = pool.submit(run_benchmark, name, data, **own_options).result()
    print(result.to_markdown(), end="\n\n")
    print(result.to_json(), flush=True)
    return result


def page(old: str, results: list[Measurement]) -> str:
    """The page with these results in place of older ones; the sections of other benchmarks stay."""
    from benchmarks.machine import describe, processor

    sections = {title(name): text for name, _, text in (part.partition("\n") for part in old.split("\n## ")[1:])}
    sections |= {title(result.name): f"\n{result.to_markdown()}\n\n{processor()}.\n" for result in results}
    shown = [f"## {title(name)}\n{sections[title(name)]}" for name in BENCHMARKS if title(name) in sections]
    head = _QUALITY_PAGE if results and all(result.name in _OF_QUALITY for result in results) else _PAGE
    return "\n\n".join([head.format(machine=describe()).strip(), *(text.strip() for text in shown)]) + "\n"


def title(name: str) -> str:
    """How a benchmark is called in the page."""
    return name.replace("_", " ").capitalize()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
