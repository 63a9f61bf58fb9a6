"""The processes of a soak: each calls kb in a loop with the fake models in place, and tells what no run should say.

python soak.py CONFIG SECONDS COMMANDS...     a process's commands as JSON: lists of words
"""

from __future__ import annotations

import io
import json
import os
import random
import re
import sys
import time
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module

from fake_embedder import FakeModels
from ingest_fixtures import analyse_by_word
from loaded_modules import load_kb

from kb.cli.main import main
from kb.operations.ingest import read

VERSION = re.compile(r"version(\d+)")
MAY_FAIL = ("another kb is writing", "another program is writing", "has no vectors yet")


def put(door: str, fake: object) -> None:
    """Replaces what a dotted name means."""
    module, _, name = door.rpartition(".")
    vars(import_module(module))[name] = fake


def call(config: str, words: list[str]) -> tuple[int, str, str]:
    """One call of kb in this process: its exit code, what it wrote and what it said."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(["--config", config, *words])
    return code, out.getvalue(), err.getvalue()


def wrong(words: list[str], code: int, out: str, err: str) -> str | None:
    """What should not be in how a call ended; None where nothing is."""
    said = f"{words}: exit {code}: {err[-600:]}"
    if "Traceback" in err or "did not foresee" in err:
        return said
    if code == 2 and not any(each in err for each in MAY_FAIL):
        return said
    if words[0] == "search" and code == 0:
        for hit in json.loads(out)["hits"]:
            if len(set(VERSION.findall(hit["snippet"]))) > 1:
                return f"a passage of two versions: {hit['snippet']}"
    return None


def loop(config: str, seconds: float, seed: int, commands: list[list[str]]) -> None:
    """Calls the commands in random order for so long; prints how often each, and what was wrong."""
    dice = random.Random(seed)
    ends = time.monotonic() + seconds
    calls: Counter[str] = Counter()
    found: list[str] = []
    while time.monotonic() < ends and not found:
        words = dice.choice(commands)
        code, out, err = call(config, words)
        calls[f"{words[0]} {code}"] += 1
        if fault := wrong(words, code, out, err):
            found.append(fault)
    print(json.dumps({"calls": calls, "wrong": found}), flush=True)


if __name__ == "__main__":
    vars(read)["analyse"] = analyse_by_word
    FakeModels().put_in_place(put)
    load_kb()
    for seed, commands in enumerate(map(json.loads, sys.argv[3:])):
        if not os.fork():
            try:
                loop(sys.argv[1], float(sys.argv[2]), seed, commands)
            finally:
                os._exit(0)
    for _ in sys.argv[3:]:
        os.wait()
