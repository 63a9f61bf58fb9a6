"""tools/: what the two commands say where the machine has not what they need."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[1]
NOBODY = 65534


@pytest.fixture
def checkout() -> Iterator[Path]:
    """The tools and the project's file in a directory that everybody may enter."""
    with tempfile.TemporaryDirectory() as directory:
        base = Path(directory)
        base.chmod(0o755)
        place = base / "빈 자리"
        place.mkdir()
        shutil.copytree(CHECKOUT / "tools", place / "tools")
        shutil.copy(CHECKOUT / "pyproject.toml", place)
        yield place
        place.chmod(0o755)


def program(directory: Path, name: str, script: str) -> None:
    path = directory / name
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def ran(checkout: Path, command: str, path: str = os.defpath) -> subprocess.CompletedProcess[str]:
    """One of the commands, as a user who owns nothing; root may write everywhere."""
    anyone = {"user": NOBODY, "group": NOBODY, "extra_groups": ()} if os.geteuid() == 0 else {}
    return subprocess.run(
        [Path(shutil.which("bash") or "bash").resolve(), f"tools/{command}"],
        cwd=checkout,
        env={"PATH": path, "HOME": str(checkout)},
        text=True,
        capture_output=True,
        check=False,
        **anyone,  # type: ignore[arg-type]
    )


@pytest.fixture
def programs(checkout: Path) -> Path:
    """A directory for the PATH that has the system's programs and no Python."""
    directory = checkout / "bin"
    directory.mkdir()
    for name in ("bash", "sh", "cat", "cmp", "dirname", "env", "rm", "sed"):
        found = shutil.which(name)
        assert found is not None
        (directory / name).symlink_to(Path(found).resolve())  # the PATH's own directory may be closed to others
    return directory


@pytest.mark.parametrize("command", ["quickstart", "test"])
def test_a_checkout_that_may_not_be_written_is_not_blamed_on_python(checkout: Path, command: str) -> None:
    checkout.chmod(0o555)
    done = ran(checkout, command)
    assert done.returncode == 1
    assert f"nothing can be written into {checkout}" in done.stderr
    assert "a directory of your own" in done.stderr
    assert "python3-venv" not in done.stderr


@pytest.mark.parametrize(
    ("python", "said", "unsaid"),
    [
        ('case "$*" in *version_info*) exit 1 ;; esac', "Python 3.11, 3.12 or 3.13", "the lines above"),
        ('case "$*" in *ensurepip*) exit 1 ;; *venv*) exit 9 ;; esac', "apt install python3-venv", "the lines above"),
        (
            'case "$*" in *ensurepip*) exit 0 ;; *venv*) echo full >&2; exit 9 ;; esac',
            "the lines above say why",
            "python3-venv",
        ),
    ],
    ids=["too old", "without venv", "venv fails"],
)
def test_why_a_python_does_not_serve_is_told(
    python: str, said: str, unsaid: str, checkout: Path, programs: Path
) -> None:
    checkout.chmod(0o777)
    program(programs, "python3", python)
    programs.chmod(0o755)
    (programs / "python3").chmod(0o755)
    done = ran(checkout, "test", str(programs))
    assert done.returncode == 1
    assert said in done.stderr
    assert unsaid not in done.stderr


def test_the_pythons_named_are_those_the_commands_take() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    prefix = "Programming Language :: Python :: 3."
    named = [int(line.removeprefix(prefix)) for line in project["classifiers"] if line.startswith(prefix)]
    assert project["requires-python"] == f">=3.{min(named)},<3.{max(named) + 1}"
    script = '. tools/environment.sh; printf %s "$supported"'
    supported = subprocess.run(["bash", "-c", script], cwd=CHECKOUT, text=True, capture_output=True, check=True).stdout
    taken = []
    for minor in range(9, 20):
        code = f"import sys; sys.version_info = (3, {minor}, 0); {supported}"
        taken += [minor] * (subprocess.run([sys.executable, "-c", code], check=False).returncode == 0)
    assert taken == named


def test_tests_in_the_background_of_a_shell_can_still_interrupt_programs() -> None:
    """There, Ctrl-C is ignored, which every program that a test starts would inherit."""
    script = (
        f"trap '' INT; exec {shlex.quote(sys.executable)} -c \"import conftest, signal; print(signal.getsignal(2))\""
    )
    search_path = os.pathsep.join([str(CHECKOUT / "tests"), *(path for path in sys.path if path)])
    env = {**os.environ, "PYTHONPATH": search_path}
    done = subprocess.run(["sh", "-c", script], env=env, cwd=CHECKOUT, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "default_int_handler" in done.stdout


def test_train_hands_its_arguments_on_from_where_it_was_called(checkout: Path, tmp_path: Path) -> None:
    folder = checkout / ".cache/train"
    (folder / "bin").mkdir(parents=True)
    program(folder / "bin", "python", '[ "$1" = -c ] || printf "%s\n" "$PWD" "$PYTHONPATH" "$MALLOC_MMAP_MAX_" "$@"')
    stamp = "{ pwd; echo; cat pyproject.toml tools/lock.txt; } >.cache/train/installed"
    subprocess.run(["bash", "-c", stamp], cwd=checkout, check=True)
    done = subprocess.run(
        [checkout / "tools/train", "--out", "an update.npz"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(checkout)},
        text=True,
        capture_output=True,
        check=False,
    )
    expected = [str(tmp_path), str(checkout), "0", "-P", "-m", "training", "--out", "an update.npz"]
    assert done.stdout.splitlines() == expected, done.stderr
