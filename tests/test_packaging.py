"""The wheel, installed into an environment that cannot see the checkout, takes notes in and gives cited hits."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tarfile
import venv
import zipfile
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
