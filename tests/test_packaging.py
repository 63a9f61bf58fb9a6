"""The wheel, installed where the checkout cannot be seen, takes notes in and gives hits; what tools/ say and take."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import cpu_limited

import kb

CHECKOUT = Path(__file__).resolve().parent.parent

# A line that is a path adds that directory to sys.path and does not run the .pth files inside it: the libraries of
# this environment are found, an editable install of the checkout is not.
DEPENDENCIES_PTH = "".join(f"{path}\n" for path in sys.path if Path(path).name in ("site-packages", "dist-packages"))


@dataclass(frozen=True, slots=True)
class Installed:
    """An environment that holds the wheel."""

    python: Path
    kb: Path
    env: dict[str, str]
    home: Path

    def run(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            cpu_limited(command), env=self.env, cwd=self.home, text=True, capture_output=True, check=False
        )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("dist")
    built = subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", target, CHECKOUT],
        text=True,
        capture_output=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    (path,) = target.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    root = tmp_path_factory.mktemp("installed")
    venv.create(root / "venv", symlinks=True)
    python = root / "venv" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel]
    done = subprocess.run(pip, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    (site_packages,) = (root / "venv" / "lib").glob("python*/site-packages")
    (site_packages / "dependencies.pth").write_text(DEPENDENCIES_PTH, encoding="utf-8")
    home = root / "home"
    home.mkdir()
    env = {"HOME": str(home), "PATH": os.defpath, "LANG": "C.UTF-8"}
    return Installed(python, python.with_name("kb"), env, home)


def test_wheel_holds_the_sql_and_the_licences(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    shipped = {name for name in names if name.endswith(".sql")}
    expected = {
        f"kb/{path.relative_to(CHECKOUT)}" for top in ("sql", "migrations") for path in CHECKOUT.glob(f"{top}/**/*.sql")
    }
    assert expected
    assert shipped == expected
    assert {Path(name).name for name in names if "/licenses/" in name} == {"LICENSE-MIT", "LICENSE-APACHE"}
    assert not [
        name for name in names if name.startswith(("tests/", "fixtures/", "benchmarks/", "tools/", "training/"))
    ]


@pytest.mark.slow
def test_the_source_distribution_leaves_out_what_only_a_checkout_needs(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", tmp_path, CHECKOUT]
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        folders = {name.split("/")[1] for name in archive.getnames() if name.count("/") > 1}
    assert folders == {"kb", "sql", "migrations"}


@pytest.mark.slow
def test_the_checkout_is_out_of_reach(installed: Installed) -> None:
    done = installed.run(installed.python, "-c", "import kb, sys; print(kb.__file__, *sys.path, sep='\\n')")
    assert done.returncode == 0, done.stderr
    where, *search_path = done.stdout.splitlines()
    assert Path(where).is_relative_to(installed.python.parent.parent)
    assert str(CHECKOUT) not in search_path


@pytest.mark.slow
def test_the_wheel_goes_by_a_name_of_its_own_and_hints_add_to_it(installed: Installed, wheel: Path) -> None:
    told = installed.run(
        installed.python,
        "-c",
        "from importlib.metadata import files; from kb.installation import DISTRIBUTION, extra_command\n"
        "print(DISTRIBUTION, any(file.match('kb/installation.py') for file in files(DISTRIBUTION)))\n"
        "print(extra_command('pdf'))",
    )
    assert told.returncode == 0, told.stderr
    named, command = told.stdout.splitlines()
    assert named == "kb-cited True"
    words = shlex.split(command)
    assert words[1:] == ["-m", "pip", "install", f"{wheel}[pdf]"]
    done = installed.run("sh", "-c", f"{command} --no-index --quiet --disable-pip-version-check")
    assert done.returncode == 0, done.stderr
    shown = installed.run(installed.kb, "--version")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert kb.__version__ in shown.stdout


@pytest.mark.slow
def test_init_ingest_search_from_the_wheel(installed: Installed) -> None:
    notes = installed.home / "notes"
    notes.mkdir()
    lines = ["# 온실", "", "첫 문단이다.", "", "## 환기", "", "환기창은 실내가 27도를 넘으면 열린다.", ""]
    (notes / "온실.md").write_text("\n".join(lines), encoding="utf-8")

    for arguments in (["init", "--root", str(notes)], ["ingest"]):
        done = installed.run(installed.kb, *arguments)
        assert done.returncode == 0, done.stderr
    hit = installed.run(installed.kb, "search", "환기창", "--mode", "lexical")
    assert hit.returncode == 0, hit.stderr
    assert "온실.md#L" in hit.stdout
    assert "27도" in hit.stdout
    miss = installed.run(installed.kb, "search", "platypus", "--mode", "lexical")
    assert miss.returncode == 1, miss.stderr

    made = {str(path.relative_to(installed.home)) for path in installed.home.rglob("*") if path.is_file()}
    assert {".config/kb/config.toml", ".local/share/kb/kb.sqlite"} <= made


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
