"""Leaves out in the second run of CI what would do there the same as in the first, and passed.

`--record FILE` writes for each test that passed what it looked for in vain: programs, modules, variables of the
environment. What a file or a fixture looks for counts for each test that uses it. `--leave-out FILE` leaves out the
tests that would look for all of it in vain again. Never left out are tests that start a process, those of random
examples, of which the second run tries more, and those with snapshots, which would be taken for unused. Both runs
must be of the same files, with the same libraries but for those that the first one lacked.
"""

from __future__ import annotations

import functools
import json
import multiprocessing.util
import os
import re
import shutil
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest

TESTS = Path(__file__).parent
STARTS = ("subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system")


class Lack(NamedTuple):
    """What was looked for in vain, or the start of a process."""

    kind: str
    name: str

    def remains(self) -> bool:
        """Whether it would be looked for in vain here."""
        if self.kind == "program":
            return shutil.which(self.name) is None
        if self.kind == "module":
            return find_spec(self.name) is None
        return self.kind == "variable" and self.name not in os.environ


class Recorder:
    """Notes what is looked for in vain, and writes it at the end."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._noted: set[Lack] | None = None  # of the test or shared fixture that runs
        self._by_test: dict[pytest.Item, set[Lack]] = {}
        self._by_fixture: defaultdict[str, set[Lack]] = defaultdict(set)
        self._by_file: defaultdict[str, set[Lack]] = defaultdict(set)
        self._outcomes: defaultdict[str, set[str]] = defaultdict(set)
        sys.addaudithook(lambda event, _: self._note("process", event) if event in STARTS else None)
        sys.meta_path.append(self)  # asked after all others
        self._watch(multiprocessing.util, "spawnv_passfds", lambda found: True, "process")
        self._watch(shutil, "which", lambda found: found is None, "program")
        self._watch(type(os.environ), "__getitem__", lambda found: False, "variable")

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Notes a module that no other finder has found."""
        if path is None:
            self._note("module", name)

    def _watch(self, owner: Any, function: str, is_vain: Callable[[Any], bool], kind: str) -> None:
        """Notes the calls of a function that end in a KeyError or with a vain result, by the name that is given."""
        called = getattr(owner, function)

        @functools.wraps(called)
        def watched(*args: Any, **options: Any) -> Any:
            name = str(args[kind == "variable"])
            try:
                found = called(*args, **options)
            except KeyError:
                self._note(kind, name)
                raise
            if is_vain(found):
                self._note(kind, name)
            return found

        setattr(owner, function, watched)

    def _note(self, kind: str, name: str) -> None:
        if self._noted is not None:
            self._noted.add(Lack(kind, name))
            return
        frame: FrameType | None = sys._getframe()
        while frame is not None:  # to the file that is imported
            if (path := Path(frame.f_code.co_filename)).parent == TESTS and path.stem != __name__:
                self._by_file[path.stem].add(Lack(kind, name))
                return
            frame = frame.f_back

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[Any]:
        self._noted = self._by_test[item] = set()
        try:
            return (yield)
        finally:
            self._noted = None

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[Any]:
        outside = self._noted
        if fixturedef.scope != "function":
            self._noted = self._by_fixture[fixturedef.argname]
        try:
            return (yield)
        finally:
            self._noted = outside

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._outcomes[report.nodeid].add(report.outcome)

    def pytest_sessionfinish(self) -> None:
        lines = []
        for item, lacks in self._by_test.items():
            names: list[str] = getattr(item, "fixturenames", [])
            is_needed = item.get_closest_marker("hypothesis") or "snapshot" in names
            if self._outcomes[item.nodeid] == {"passed"} and not is_needed:
                fixtures = (self._by_fixture[name] for name in names)
                files = (self._by_file[name] for name in files_of(item.path.stem))
                lines.append(json.dumps([item.nodeid, sorted(lacks.union(*fixtures, *files))]) + "\n")
        with self._file.open("ab", buffering=0) as file:  # several processes write it, each at once
            file.write("".join(lines).encode())


@functools.cache
def files_of(name: str) -> frozenset[str]:
    """The names of a test file and of what it imports from this folder, directly or not."""
    found, waiting = set[str](), [name, "conftest"]
    while waiting:
        path = TESTS / f"{waiting.pop()}.py"
        if path.stem not in found and path.is_file():
            found.add(path.stem)
            waiting += re.findall(r"(?m)^\s*(?:from|import) (\w+)", path.read_text(encoding="utf-8"))
    return frozenset(found)


class Leaver:
    """Leaves out the recorded tests that would look for the same in vain."""

    def __init__(self, file: Path) -> None:
        remains = functools.cache(Lack.remains)
        self._left: set[str] = set()
        self._why: Counter[str] = Counter()
        for line in file.read_text(encoding="utf-8").splitlines():
            test, lacks = json.loads(line)
            differing = [lack for lack in (Lack(*each) for each in lacks) if not remains(lack)]
            if differing:
                self._why.update({lack.kind if lack.kind == "process" else " ".join(lack) for lack in differing})
            else:
                self._left.add(test)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        why = ", ".join(f"{name} ({count})" for name, count in self._why.most_common())
        terminalreporter.write_sep("-", "tests left out")
        terminalreporter.write_line(f"left out, since they passed and would do the same here: {len(self._left)}")
        terminalreporter.write_line(f"run again, of those that passed, for what they asked: {why or 'none'}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        left = [item for item in items if item.nodeid in self._left]
        items[:] = [item for item in items if item.nodeid not in self._left]
        config.hook.pytest_deselected(items=left)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the two options."""
    parser.addoption("--record", type=Path, metavar="FILE", help="write the tests that passed, for --leave-out")
    parser.addoption("--leave-out", type=Path, metavar="FILE", help="leave out recorded tests that would do the same")


def pytest_configure(config: pytest.Config) -> None:
    """Records tests or leaves them out, as the options say."""
    if file := config.getoption("--record"):
        config.pluginmanager.register(Recorder(file))
    if file := config.getoption("--leave-out"):
        config.pluginmanager.register(Leaver(file))
