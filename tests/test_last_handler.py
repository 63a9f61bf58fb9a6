"""Whatever is raised ends as an error with a hint and exit code 2, a traceback in the log: never as "nothing found"."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from conftest import Vault, kb_in, run_kb

from kb.wire.schemas import validate

pytestmark = pytest.mark.slow


class Panic(BaseException):
    """As compiled libraries raise them: no Exception."""


UNFORESEEN = {
    "a fault of kb": (ValueError("odd value"), "ValueError: odd value", "generic"),
    "a panic in a library": (Panic("index out of bounds"), "Panic: index out of bounds", "generic"),
    "too deep": (RecursionError("maximum recursion depth exceeded"), "RecursionError", "generic"),
    "no memory": (MemoryError(), "not enough memory", "generic"),
    "no permission": (
        PermissionError(errno.EACCES, "Permission denied", "/a/b"),
        "/a/b: Permission denied",
        "io_error",
    ),
    "a full disk": (
        OSError(errno.ENOSPC, "No space left on device"),
        "no room left on the disk of kb's files",
        "disk_full",
    ),
    "a pipe of kb's own that broke": (BrokenPipeError(errno.EPIPE, "Broken pipe"), "Broken pipe", "io_error"),
}


@pytest.mark.parametrize("cause", UNFORESEEN)
def test_an_unforeseen_exception_is_an_error_with_a_hint_and_a_traceback_in_the_log(
    cause: str, vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raised, says, code = UNFORESEEN[cause]

    def fail(*args: object, **options: object) -> None:
        raise raised

    monkeypatch.setattr("kb.operations.search.search.search_lexical", fail)
    call = ["--config", str(vault.config), "--set", f"storage.log_dir={tmp_path / 'logs'}", "search", "gateway"]
    ran = run_kb(*call)
    assert (ran.code, ran.stdout) == (2, "")
    first, second = ran.stderr.splitlines()
    assert first.startswith("error: ")
    assert says in first
    assert second.startswith("  hint: ")
    (log,) = (tmp_path / "logs").glob("kb-*.log")
    assert "Traceback (most recent call last)" in log.read_text(encoding="utf-8")
    ran = run_kb(*call, "--json")
    assert (ran.code, ran.stdout) == (2, "")
    error = json.loads(ran.stderr)
    validate("error.v1", error)
    assert (error["code"], says in error["message"]) == (code, True)


def test_an_unforeseen_exception_where_no_log_can_be_written(
    vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **options: object) -> None:
        raise ValueError("odd value")

    monkeypatch.setattr("kb.operations.search.search.search_lexical", fail)
    (tmp_path / "file").write_text("")
    ran = kb_in(vault)("--set", f"storage.log_dir={tmp_path / 'file' / 'logs'}", "search", "gateway")
    assert ran.code == 2
    assert "ValueError: odd value" in ran.stderr
    assert "kb --debug" in ran.stderr


def test_an_editor_with_an_open_quotation_mark_is_an_error(vault: Vault) -> None:
    for editor in ('"vi', " "):
        ran = kb_in(vault)("open", "chunking.md#L1-L2", env={"EDITOR": editor, "VISUAL": ""})
        assert ran.code == 2
        assert "$EDITOR" in ran.stderr


def in_a_process(
    vault: Vault, *args: str, env: Mapping[str, str] | None = None, shell: str = '"$@"', code: str | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Runs kb on the vault in a process of its own, its streams as `shell` has them."""
    start = ["-m", "kb"] if code is None else ["-c", code]
    command = ["sh", "-c", shell, "sh", sys.executable, *start, "--config", str(vault.config), *args]
    path = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.run(command, env={**os.environ, **path, **(env or {})}, capture_output=True, check=False)


@pytest.mark.parametrize("encoding", ["latin-1", "euc-kr", "ascii"])
def test_json_is_utf_8_in_every_locale(vault: Vault, encoding: str) -> None:
    env = {"PYTHONIOENCODING": encoding}
    found = in_a_process(vault, "search", "배터리 résumé", "--json", env=env)
    assert (found.returncode, found.stderr) == (0, b"")
    assert json.loads(found.stdout.decode("utf-8"))["query"] == "배터리 résumé"
    failed = in_a_process(vault, "inspect", "doc", "배터리 résumé", "--json", env=env)
    assert failed.returncode == 2
    assert "배터리 résumé" in json.loads(failed.stderr.decode("utf-8"))["message"]
    described = in_a_process(vault, "schema", "--wire", "search_hit.v1", env=env)
    assert described.returncode == 0
    json.loads(described.stdout.decode("utf-8"))


@pytest.mark.parametrize("encoding", ["latin-1", "euc-kr", "ascii"])
def test_text_that_the_locale_lacks_is_shown_with_question_marks(vault: Vault, encoding: str) -> None:
    env = {"PYTHONIOENCODING": encoding}
    for args in (["search", "배터리"], ["list", "docs"], ["inspect", "doc", "chunking.md"], ["search", "--help"]):
        ran = in_a_process(vault, *args, env=env)
        assert (ran.returncode, ran.stderr) == (0, b""), args
    assert in_a_process(vault, "inspect", "doc", "résumé 배터리", env=env).returncode == 2


STREAMS = {
    "no standard output": '"$@" >&-',
    "no standard error": '"$@" 2>&-',
    "no standard input": '"$@" <&-',
    "none": '"$@" <&- >&- 2>&-',
}


@pytest.mark.parametrize("streams", STREAMS)
@pytest.mark.parametrize(("args", "code"), [(("search", "gateway"), 0), (("search", "platypus"), 1), (("search",), 2)])
def test_closed_streams_change_no_exit_code(vault: Vault, streams: str, args: tuple[str, ...], code: int) -> None:
    ran = in_a_process(vault, *args, shell=STREAMS[streams])
    assert ran.returncode == code
    assert b"Traceback" not in ran.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
@pytest.mark.parametrize("shell", ['"$@" >/dev/full', '"$@" >/dev/full 2>&1'])
def test_an_output_that_takes_nothing_is_an_error(vault: Vault, shell: str) -> None:
    for args in (["search", "gateway"], ["search", "gateway", "--json"], ["search"], ["list", "docs"], ["doctor"]):
        ran = in_a_process(vault, *args, shell=shell)
        assert ran.returncode == 2, args
        assert b"Traceback" not in ran.stderr
        if "2>" not in shell and args[0] == "search" and len(args) > 1:
            assert b"the output could not be written: No space left on device" in ran.stderr


# Runs kb until the n-th module is imported, then presses Ctrl-C.
INTERRUPTED = """
import sys
left = int(sys.argv.pop(1))
def count(event, args):
    global left
    if event == "import":
        left -= 1
        if left == 0:
            raise KeyboardInterrupt
import kb.cli.entry
sys.addaudithook(count)
sys.argv[0] = "kb"
kb.cli.entry.run()
"""


@pytest.mark.parametrize("moment", [1, 2, 5, 20, 40, 60, 80, 100, 120])
def test_ctrl_c_at_any_import_ends_kb_in_one_line(vault: Vault, moment: int) -> None:
    done = in_a_process(
        vault,
        *("ask", "How often does the gateway retry?", "--provider", "extractive"),
        code=f"import sys; sys.argv.insert(1, '{moment}')\n{INTERRUPTED}",
    )
    assert (done.returncode, done.stderr) == (130, b"aborted\n")


def test_a_library_that_is_missing_is_told_in_two_lines(vault: Vault) -> None:
    code = "import sys; sys.modules['click'] = None\nfrom kb.cli.entry import run\nrun()"
    ran = in_a_process(vault, "search", "gateway", code=code)
    assert ran.returncode == 2
    assert ran.stderr.startswith(b"error: kb could not be started: ")
    assert len(ran.stderr.splitlines()) == 2
