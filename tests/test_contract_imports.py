"""A cold search or extractive answer loads no heavy library; what makes it start fast behaves as its model."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Vault, cpu_limited, kb_in
from loaded_modules import HEAVY, loaded_by


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ((), 0),
        (("search", "gateway retries"), 0),
        (("search", "청킹 규칙은?"), 0),
        (("search", "gateway", "--lang", "en", "--tag", "회의", "--path-glob", "*.md", "--explain", "--json"), 0),
        (("search", "platypus"), 1),
        (("--version",), 0),
        (("list", "docs"), 0),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_nothing_heavy_is_loaded(args: tuple[str, ...], code: int, vault: Vault, tmp_path: Path) -> None:
    call = ("--config", str(vault.config), *args) if args else ()
    ended, modules = loaded_by(*call, home=tmp_path)
    assert ended == code
    assert "kb.cli.main" in modules
    assert HEAVY & modules == set()


@pytest.mark.slow
def test_nothing_heavy_is_loaded_to_quote_an_answer_and_keep_it(fresh_vault: Vault, tmp_path: Path) -> None:
    assert kb_in(fresh_vault)("ingest", "--no-embed").code == 0
    settings = ("--config", str(fresh_vault.config), "--set", "rag.score_gate=0")
    question = ("ask", "How often does the gateway retry?", "--provider", "extractive")
    code, modules = loaded_by(*settings, *question, home=tmp_path)
    assert code == 1, "kb is not sure of it"
    assert "kb.answer.judging" in modules
    assert HEAVY & modules == set()


@pytest.mark.slow
def test_the_probe_sees_what_is_loaded(vault: Vault, tmp_path: Path) -> None:
    """The JSON Schemas of the wire are made by pydantic: the check would notice it."""
    _, modules = loaded_by("--config", str(vault.config), "schema", "--wire", "search_hit.v1", home=tmp_path)
    assert "pydantic" in HEAVY & modules


SEVERAL_THREADS = """
import sys
sys.setswitchinterval(1e-6)
from threading import Barrier, Thread
from kb.cli.deferred import defer
defer()
import inspect
found, start = [], Barrier(8)
def ask():
    start.wait()
    found.append(inspect.BoundArguments.__name__)  # what the module defines last but for its functions
threads = [Thread(target=ask) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert found == ["BoundArguments"] * 8, found
try:
    inspect.nothing
except AttributeError as error:
    assert "nothing" in str(error)
else:
    raise AssertionError("it has nothing of that name")
"""


def test_a_module_loaded_late_is_whole_for_every_thread(tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "PATH": os.defpath, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        cpu_limited([sys.executable, "-c", SEVERAL_THREADS]),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


PLATFORM = """
import sys
from kb.cli.deferred import defer
defer()
import platform, uuid
assert uuid.uuid4().version == 4
assert platform.system() == ("Darwin" if sys.platform == "darwin" else "Linux")
assert platform.machine() and platform.system() == ("Darwin" if sys.platform == "darwin" else "Linux")
"""


def test_the_name_of_the_system_is_known_before_its_module_is_loaded() -> None:
    done = subprocess.run(
        cpu_limited([sys.executable, "-c", PLATFORM]),
        env={"PATH": os.defpath, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
