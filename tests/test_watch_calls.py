"""Calls that `kb watch` runs print what they would print themselves; where it does not run them, nothing hangs."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
from conftest import Vault, indexed_vault, kb_in
from watching import (
    HAND_OVER,
    KB,
    NOT_HANDED_OVER,
    children,
    environment,
    handed_over,
    run_here,
    wait_until_warm,
    watch,
)

from kb.cli import watch_workers
from kb.cli.entry import hand_over, socket_path

pytestmark = pytest.mark.slow


class Watched(NamedTuple):
    """A vault with a `kb watch` that is ready."""

    vault: Vault
    process: subprocess.Popen[bytes]
    env: dict[str, str]


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    made = indexed_vault(tmp_path_factory.mktemp("watched"))
    with watch(made.config) as (process, env):
        wait_until_warm(made.config, env)
        yield Watched(made, process, env)


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Watched]:
    """As `watched`, for tests that end it."""
    made = indexed_vault(tmp_path)
    with watch(made.config) as (process, env):
        wait_until_warm(made.config, env)
        yield Watched(made, process, env)


def same(watched: Watched, *args: str, env: dict[str, str] | None = None, **how: object) -> int:
    """The exit code of a call, whose output is the same wherever it runs."""
    env = {**watched.env, **(env or {})}
    there = handed_over(watched.vault.config, *args, env=env, **how)
    here = run_here(watched.vault.config, *args, env=env, **how)
    assert (there.returncode, there.stdout, there.stderr) == (here.returncode, here.stdout, here.stderr)
    return there.returncode


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("search", "gateway retries"), 0),
        (("search", "청킹 규칙은?", "--explain"), 0),
        (("search", "gateway", "--format", "vim", "--k", "2"), 0),
        (("search", "platypus"), 1),
        (("search", "gateway", "--lang", "xx", "--nonsense"), 2),
        (("search", "--help"), 0),
        (("ask", "How often does the gateway retry?", "--provider", "extractive", "--short"), 0),
        (("fetch", "chunking.md#L5-L7", "nothing.md"), 1),
        (("fetch", "1"), 0),
        (("open", "chunking.md#L7", "--print"), 0),
        (("--set", "search.default_k=1", "--verbose", "search", "the"), 0),
        (("--set", "search.default_k=none", "search", "the"), 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_output_is_the_same(watched: Watched, args: tuple[str, ...], code: int) -> None:
    assert same(watched, *args) in (code, 1 if args[0] == "ask" else code)


@pytest.mark.parametrize(
    "env",
    [
        {"COLUMNS": "40"},
        {"PYTHONIOENCODING": "latin-1"},
        {"KB_SEARCH_DEFAULT_K": "1"},
        {"EDITOR": "no-such-editor", "VISUAL": ""},
        {"KB_READ_ONLY": "1", "NO_COLOR": "1"},
    ],
    ids=str,
)
def test_the_environment_of_a_call_counts(watched: Watched, env: dict[str, str]) -> None:
    same(watched, "search", "청킹 the gateway", env=env)
    same(watched, "open", "chunking.md#L7", env=env)


def test_working_directory_standard_input_and_umask_are_those_of_the_call(watched: Watched, tmp_path: Path) -> None:
    assert same(watched, "search", "-", input="게이트웨이".encode()) == 0
    assert same(watched, "open", "log.md", "--print", cwd=watched.vault.root / "projects/gateway") == 0
    written = tmp_path / "written"
    env = watched.env | {"EDITOR": "touch-it", "VISUAL": "", "PATH": f"{tmp_path}{os.pathsep}{watched.env['PATH']}"}
    editor = tmp_path / "touch-it"
    editor.write_text(f'#!/bin/sh\necho "$$ $PPID" >"{written}"\nexit 3\n', encoding="utf-8")
    editor.chmod(0o700)
    done = handed_over(watched.vault.config, "open", "chunking.md", env=env, umask=0o027)
    assert (done.returncode, written.stat().st_mode & 0o777) == (2, 0o640)


def test_an_editor_is_started_by_the_calling_process(watched: Watched, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\necho $PPID\n", encoding="utf-8")
    editor.chmod(0o700)
    command = [sys.executable, "-c", HAND_OVER, "--config", str(watched.vault.config), "open", "chunking.md"]
    env = watched.env | {"VISUAL": str(editor)}
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as call:
        said, _ = call.communicate(timeout=60)
        assert (call.returncode, int(said.split()[-1])) == (0, call.pid)


def test_the_list_shown_last_is_kept(watched: Watched) -> None:
    assert handed_over(watched.vault.config, "search", "청킹", env=watched.env).returncode == 0
    fetched = handed_over(watched.vault.config, "fetch", "1", env=watched.env)
    assert b"chunking.md" in fetched.stdout


def test_a_call_with_another_configuration_is_not_answered(watched: Watched, tmp_path: Path) -> None:
    other = indexed_vault(tmp_path, {"other.md": "# Other\n\nThe gateway of another house.\n"})
    assert handed_over(other.config, "search", "gateway", env=watched.env).returncode == NOT_HANDED_OVER
    setting = f"storage.data_dir={other.sqlite.parent}"
    done = handed_over(watched.vault.config, "--set", setting, "search", "gateway", env=watched.env)
    assert (b"other.md" in done.stdout, b"projects/" in done.stdout) == (True, False)


def write_until(descriptor: int, deadline: float) -> None:
    """Writes now and then."""
    while time.monotonic() < deadline:
        os.write(descriptor, b"x")
        time.sleep(0.1)


@pytest.mark.parametrize("pressed", [signal.SIGINT, signal.SIGKILL])
def test_the_end_of_a_call_ends_its_command(watched: Watched, pressed: signal.Signals) -> None:
    command = [sys.executable, "-c", HAND_OVER, "--config", str(watched.vault.config), "search", "-"]
    pipe, ours = os.pipe()
    with subprocess.Popen(command, env=watched.env, stdin=pipe, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as call:
        os.close(pipe)
        time.sleep(1)  # by then the command reads what is not there
        call.send_signal(pressed)
        _, said = call.communicate(timeout=60)
    assert (call.returncode, said) == ((130, b"aborted\n") if pressed == signal.SIGINT else (-pressed, b""))
    deadline = time.monotonic() + 20
    with pytest.raises(BrokenPipeError):  # once nobody reads
        write_until(ours, deadline)
    os.close(ours)


def test_answers_are_right_for_eight_callers_beside_an_ingest(watched: Watched) -> None:
    config, env = watched.vault.config, watched.env
    expected = {
        word: run_here(config, "search", word, "--k", "1", env=env).stdout for word in ("청킹", "센서", "zebra")
    }

    def ask(number: int) -> bool:
        word = list(expected)[number % len(expected)]
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                "from kb.cli.entry import run; run()",
                "--config",
                config,
                "search",
                word,
                "--k",
                "1",
            ],
            env=env,
            capture_output=True,
            timeout=120,
            check=False,
        )
        return done.stdout == expected[word]

    with ThreadPoolExecutor(9) as pool:
        indexing = pool.submit(lambda: [run_here(config, "ingest", "--no-embed", env=env).returncode for _ in range(3)])
        answers = list(pool.map(ask, range(64)))
    assert (all(answers), indexing.result()) == (True, [0, 0, 0])


def workers(watched: Watched) -> set[int]:
    """The processes that run commands."""
    return {worker for warmed in children(watched.process.pid) for worker in children(warmed)}


def test_a_worker_answers_call_after_call_and_ends_after_an_error(own: Watched) -> None:
    first = workers(own)
    assert len(first) == 1
    for _ in range(3):
        assert same(own, "search", "gateway") == 0
    assert workers(own) == first
    assert same(own, "search", "gateway", "--nonsense") == 2
    assert same(own, "search", "gateway") == 0
    assert workers(own) & first == set()


def test_calls_that_wait_keep_no_other_call_waiting(own: Watched) -> None:
    command = [sys.executable, "-c", HAND_OVER, "--config", str(own.vault.config), "search", "-"]
    piped = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    waiting = [subprocess.Popen(command, env=own.env, **piped) for _ in range(4)]  # type: ignore[call-overload]
    deadline = time.monotonic() + 60
    while len(workers(own)) < len(waiting):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    expected = run_here(own.vault.config, "search", "gateway", env=own.env).stdout
    assert handed_over(own.vault.config, "search", "gateway", env=own.env).stdout == expected
    assert [call.communicate(b"gateway", timeout=60)[0] for call in waiting] == [expected] * len(waiting)
    while len(workers(own)) > 1:
        assert time.monotonic() < deadline, "one is enough once nobody calls"
        time.sleep(0.1)


def test_what_could_not_be_printed_is_in_no_later_output(own: Watched) -> None:
    """The standard output of the first call is full; that of the second has nobody who reads it."""
    search = ("search", "gateway", "--json")
    expected = run_here(own.vault.config, *search, env=own.env).stdout
    command = [sys.executable, "-c", HAND_OVER, "--config", str(own.vault.config), *search]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, env=own.env, stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
    assert (done.returncode, b"could not be written" in done.stderr) == (2, True)
    assert handed_over(own.vault.config, *search, env=own.env).stdout == expected
    with subprocess.Popen(command, env=own.env, stdout=subprocess.PIPE) as call:
        assert call.stdout is not None
        call.stdout.close()
    assert call.returncode == 0
    assert handed_over(own.vault.config, *search, env=own.env).stdout == expected


def test_without_a_watch_nothing_is_handed_over(vault: Vault, tmp_path: Path) -> None:
    env = environment(tmp_path)
    assert handed_over(vault.config, "search", "gateway", env=env).returncode == NOT_HANDED_OVER


def test_a_watch_that_was_killed_is_done_without(own: Watched) -> None:
    own.process.kill()
    own.process.wait()
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from kb.cli.entry import run; run()",
            "--config",
            own.vault.config,
            "search",
            "gateway",
        ],
        env=own.env,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0
    deadline = time.monotonic() + 20
    while handed_over(own.vault.config, "search", "gateway", env=own.env).returncode != NOT_HANDED_OVER:
        assert time.monotonic() < deadline, "the process that it started ends with it"
        time.sleep(0.1)
    with_another = subprocess.Popen(
        [*KB, "--config", own.vault.config, "watch"],
        env=own.env,
        stdout=subprocess.PIPE,
    )
    assert with_another.stdout is not None
    assert with_another.stdout.readline().startswith(b"watching"), "the socket of the killed one is in nobody's way"
    with_another.terminate()
    with_another.communicate(timeout=60)


def test_a_watch_that_does_not_answer_is_not_waited_for(
    vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with TemporaryDirectory(dir="/tmp") as runtime, socket.socket(socket.AF_UNIX) as deaf:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        deaf.bind(socket_path(str(vault.config)))
        deaf.listen(8)
        began = time.monotonic()
        assert hand_over(["--config", str(vault.config), "search", "gateway"]) is None
        assert 0.1 < time.monotonic() - began < 5


def family(pid: int) -> Iterator[int]:
    """A process and all that came of it."""
    yield pid
    for child in children(pid):
        yield from family(child)


def test_a_watch_that_sleeps_is_not_waited_for_and_answers_again(own: Watched) -> None:
    expected = run_here(own.vault.config, "search", "gateway", env=own.env)
    command = [*KB, "--config", str(own.vault.config), "search", "gateway"]
    asleep = list(family(own.process.pid))
    try:
        for pid in asleep:
            os.kill(pid, signal.SIGSTOP)
        by_itself = [subprocess.run(command, env=own.env, capture_output=True, timeout=60, check=False) for _ in "abc"]
    finally:
        for pid in asleep:
            os.kill(pid, signal.SIGCONT)
    awake = handed_over(own.vault.config, "search", "gateway", env=own.env)
    said = {(each.returncode, each.stdout, each.stderr) for each in (expected, *by_itself, awake)}
    assert said == {(0, expected.stdout, b"")}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_socket_of_another_user_is_given_nothing(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    with TemporaryDirectory(dir="/tmp") as runtime, socket.socket(socket.AF_UNIX) as foreign:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        path = socket_path(str(vault.config))
        foreign.bind(path)
        foreign.listen(8)
        foreign.setblocking(False)
        os.chown(path, 65534, 65534)
        assert hand_over(["--config", str(vault.config), "search", "gateway"]) is None
        with pytest.raises(BlockingIOError):
            foreign.accept()
        os.chown(runtime, 65534, 65534)
        done = subprocess.run(
            [*KB, "--config", str(vault.config), "watch"], capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, "belongs to another user" in done.stderr) == (2, True)


def test_a_disk_without_room_for_the_socket_is_an_error_with_a_hint(vault: Vault, tmp_path: Path) -> None:
    if subprocess.run(["unshare", "-rm", "true"], check=False).returncode:
        pytest.skip("this machine lets nobody mount in a namespace")
    mount = f"mount -t tmpfs -o nr_inodes=1 none '{tmp_path}'"
    shell = ["unshare", "-rm", "sh", "-c", f'{mount} && exec "$@"', "sh"]
    command = [*shell, *KB, "--config", str(vault.config), "watch"]
    done = subprocess.run(command, env=environment(tmp_path), capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, "No space left" in done.stderr, "XDG_RUNTIME_DIR" in done.stderr) == (2, True, True)


# A caller that was kept from going on for longer than it would have waited.
LATE = """
import os, sys, time
from kb.cli import entry
class Late(bytes):
    def __eq__(self, other):
        time.sleep(3 * 0.2)
        return bytes.__eq__(self, other)
entry.READY, entry.GIVE_UP_S = Late(entry.READY), 30
os._exit(entry.hand_over(sys.argv[1:]))
"""


def test_a_caller_that_is_late_is_answered(watched: Watched) -> None:
    command = [sys.executable, "-c", LATE, "--config", str(watched.vault.config), "search", "gateway"]
    done = subprocess.run(command, env=watched.env, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_there_is_one_watch(watched: Watched) -> None:
    command = [*KB, "--config", watched.vault.config, "watch"]
    done = subprocess.run(command, env=watched.env, capture_output=True, timeout=60, check=False)
    assert (done.returncode, b"runs already" in done.stderr) == (2, True)


def test_the_status_names_the_watch_that_runs(watched: Watched, vault: Vault) -> None:
    told = status_of(watched.vault.config, watched.env)
    assert f"watched by   kb watch, process {watched.process.pid}\n" in told
    assert "watched by" not in status_of(vault.config, watched.env)


def status_of(config: Path, env: dict[str, str]) -> str:
    """What `kb status` says in that environment."""
    done = subprocess.run(
        [*KB, "--config", str(config), "status"], env=env, capture_output=True, check=True, timeout=60
    )
    return done.stdout.decode()


def test_a_socket_that_cannot_be_made_is_an_error_with_a_hint(watched: Watched, tmp_path: Path) -> None:
    for folder in (tmp_path / ("long" * 30), Path("/proc/nothing")):
        env = watched.env | {"XDG_RUNTIME_DIR": str(folder)}
        command = [*KB, "--config", str(watched.vault.config), "watch"]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, "XDG_RUNTIME_DIR" in done.stderr.splitlines()[-1]) == (2, True)


def test_changed_code_is_noticed(tmp_path: Path) -> None:
    files = [str(tmp_path / name) for name in ("a.py", "b.py")]
    for file in files:
        Path(file).touch()
    before = watch_workers._code_state(files)
    assert watch_workers._code_state(files) == before
    other = tmp_path / "other"
    other.touch()
    os.utime(other, ns=(0, 0))  # an installer may keep the times of an archive
    other.replace(files[0])
    assert watch_workers._code_state(files) != before
    Path(files[0]).unlink()
    assert watch_workers._code_state(files) != before


def test_the_answer_of_a_changed_base_is_that_of_its_new_state(own: Watched) -> None:
    (own.vault.root / "added.md").write_text("# Added\n\nThe wombat digs.\n", encoding="utf-8")
    assert handed_over(own.vault.config, "search", "wombat", env=own.env).returncode == 1
    for _ in range(100):
        ran = kb_in(own.vault)("ingest", "--no-embed")
        if "another kb is writing" not in ran.stderr:  # `kb watch` takes the change at the same moment
            break
        time.sleep(0.1)
    assert ran.code == 0
    assert b"added.md" in handed_over(own.vault.config, "search", "wombat", env=own.env).stdout
