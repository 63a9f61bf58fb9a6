"""What lets a cold search start fast behaves as what it stands for: named tuples, and modules that are loaded late."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import typing
from pathlib import Path

import pytest
from conftest import cpu_limited

from kb.records import NamedTuple


class Fast(NamedTuple):
    """Documented."""

    number: int
    words: tuple[str, ...] = ()
    note: str | None = None

    @property
    def count(self) -> int:
        """How many words."""
        return len(self.words)


class Usual(typing.NamedTuple):
    """Documented."""

    number: int
    words: tuple[str, ...] = ()
    note: str | None = None


def test_a_named_tuple_is_as_the_usual_one() -> None:
    fast, usual = Fast(1, note="n"), Usual(1, note="n")
    assert fast == usual
    assert (Fast._fields, Fast._field_defaults, Fast.__doc__) == (Usual._fields, Usual._field_defaults, Usual.__doc__)
    assert typing.get_type_hints(Fast) == typing.get_type_hints(Usual)
    assert fast._replace(words=("a", "b")).count == 2
    assert Fast._make([1, ("a",), None]) == (1, ("a",), None)
    assert fast._asdict() == usual._asdict()
    assert pickle.loads(pickle.dumps(fast)) == fast
    assert (repr(fast), Fast.__module__) == (repr(usual).replace("Usual", "Fast"), __name__)


def test_a_named_tuple_refuses_what_the_usual_one_refuses() -> None:
    with pytest.raises(TypeError, match="without a default"):
        type(NamedTuple)("Odd", (NamedTuple,), {"__module__": "m", "__annotations__": {"a": int, "b": int}, "a": 1})
    with pytest.raises(AttributeError):
        Fast(1).number = 2  # type: ignore[misc]


SEVERAL_THREADS = """
import sys
sys.setswitchinterval(1e-6)
from threading import Barrier, Thread
from kb.cli.entry import defer
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


STAND_INS = """
import sys
from kb.cli.entry import defer
defer()
from gettext import gettext, ngettext
from pathlib import Path
from urllib.parse import quote_from_bytes
import platform, urllib.parse, uuid
assert (gettext("one"), ngettext("one", "two", 2)) == ("one", "two")
assert (quote_from_bytes(b"a b"), Path("/a b").as_uri()) == ("a%20b", "file:///a%20b")
assert (gettext("one"), quote_from_bytes(b"a b")) == ("one", "a%20b")  # the modules are loaded by now
assert urllib.parse.urlsplit("http://a/b").netloc == "a"
assert platform.machine() and uuid.uuid4().version == 4
assert platform.system() == ("Darwin" if sys.platform == "darwin" else "Linux")
"""


def test_a_function_taken_out_of_a_deferred_module_is_that_of_the_module() -> None:
    done = subprocess.run(
        cpu_limited([sys.executable, "-c", STAND_INS]),
        env={"PATH": os.defpath, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
