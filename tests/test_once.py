"""The second run of CI leaves out what passed in the first and would do the same again, and nothing else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import once
import pytest

CONFTEST = """
import shutil
import pytest
from once import pytest_addoption, pytest_configure

@pytest.fixture(scope="session")
def shared():
    return shutil.which("further-program")
"""
HELPER = "import os\nFOUND = os.environ.get('FURTHER_VARIABLE')\n"
OF_HELPER = """
import pytest
from helper import FOUND

def test_whose_file_asks(): pass
@pytest.mark.skipif(FOUND is None, reason="lacks it")
def test_that_was_skipped(): pass
"""
TESTS = """
import multiprocessing, os, shutil, subprocess, sys
from importlib.util import find_spec
import pytest
from hypothesis import given, strategies

def test_that_asks_nothing(): pass
def test_that_asks_what_both_have(): assert shutil.which("sh") and os.environ["PATH"] and find_spec("json")
def test_that_asks_what_both_lack(): assert not shutil.which("no-such-program") and not find_spec("no_such_module")
def test_of_a_program(): shutil.which("further-program")
def test_of_a_module(): find_spec("further_module")
def test_of_a_variable(): os.environ.get("FURTHER_VARIABLE")
def test_that_starts_a_process(): subprocess.run(["true"])
def test_that_spawns(): multiprocessing.get_context("spawn").Process(target=print).start()
def test_that_forks(): os.waitpid(os.fork() or os._exit(0), 0)
def test_whose_fixture_asks(shared): pass
def test_of_the_same_fixture(shared): pass
@given(strategies.integers())
def test_of_examples(number): pass
def test_that_failed(): assert "FURTHER_VARIABLE" in os.environ
"""


def ran(folder: Path, *options: str, **variables: str) -> tuple[str, set[str]]:
    """What pytest printed, and the tests that it ran."""
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *options]
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(folder), **variables}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode < 2, done.stdout + done.stderr
    return done.stdout, set(re.findall(r"::test_(\w+)\S* (?:PASSED|FAILED)", done.stdout))


@pytest.mark.slow
def test_only_what_would_do_the_same_is_left_out(tmp_path: Path) -> None:
    for name, text in (("conftest", CONFTEST), ("helper", HELPER), ("test_of_helper", OF_HELPER), ("test_a", TESTS)):
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    shutil.copy(once.__file__, tmp_path)
    record = f"{tmp_path / 'record'}"
    _, first = ran(tmp_path, "--record", record)
    said, again = ran(tmp_path, "--leave-out", record)
    assert first - again == {
        "that_asks_nothing", "that_asks_what_both_have", "that_asks_what_both_lack", "of_a_program", "of_a_module",
        "of_a_variable", "whose_fixture_asks", "of_the_same_fixture", "whose_file_asks",
    }  # fmt: skip
    assert "would do the same here: 9\n" in said

    program, module = tmp_path / "programs/further-program", tmp_path / "modules/further_module.py"
    for made in (program, module):
        made.parent.mkdir()
        made.write_text("", encoding="utf-8")
    program.chmod(0o755)
    there = {"PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": f"{tmp_path}:{module.parent}"}
    said, again = ran(tmp_path, "--leave-out", record, **there, FURTHER_VARIABLE="x")
    assert again - first == {"that_was_skipped"}
    assert first - again == {"that_asks_nothing", "that_asks_what_both_have", "that_asks_what_both_lack"}
    assert "process (3)" in said
    assert "program further-program (3)" in said
