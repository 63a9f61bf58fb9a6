"""What kb makes is readable to its user alone; what it makes for the user has the mode that the user's shell gives."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Vault, copy_vault, make_vault, run_kb
from fake_embedder import FakeModels
from vaults import EMBEDDING, call

from kb.private import PRIVATE_UMASK, kept_private, make_folder_for_user, open_for_user, users_surroundings

PDF = Path(__file__).parents[1] / "fixtures" / "media" / "pdf" / "handbook-en.pdf"


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    """What most shells set, and what made files of 0644."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture(scope="module")
def used_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    """A knowledge base with a note, a PDF, vectors, caches, an answer, a run, an init file and a log."""
    before = os.umask(0o022)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        FakeModels().put_in_place(patch.setattr)
        yield make_used(tmp_path_factory.mktemp("once") / "used")
    os.umask(before)


@pytest.fixture
def used(used_once: Vault, tmp_path: Path) -> Vault:
    """A copy of it, for a test that changes it."""
    return copy_vault(used_once.config.parent, tmp_path / "used")


def make_used(base: Path) -> Vault:
    """The knowledge base, made by kb as its users call it."""
    made = make_vault(base, settings=EMBEDDING, files={"handbook.pdf": PDF})
    (made.root / "chunking.md").chmod(0o600)
    for command in (
        ("ingest",),
        (
            *("--set", "rag.score_gate=0", "--set", "rag.answer_precision=0"),
            *("ask", "How often does the gateway retry?", "--provider", "extractive"),
        ),
        ("sql", "--rc", str(made.config.parent / "gateway.rc")),
    ):
        ran = call(made, *command)
        assert ran.code == 0, ran.stderr
    # In a process of its own: a log, once begun, goes on in the process.
    paths = os.pathsep.join(path for path in sys.path if path)
    logged = (sys.executable, "-m", "kb", "--config", str(made.config), "--debug", "search", "gateway")
    subprocess.run(logged, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, check=True)
    return made


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def kept(vault: Vault) -> list[Path]:
    """All folders and files below data, cache and logs."""
    base = vault.config.parent
    return [path for name in ("data", "cache", "logs") for path in (base / name, *(base / name).rglob("*"))]


def wrong_modes(paths: list[Path]) -> dict[str, str]:
    return {str(path): oct(mode(path)) for path in paths if mode(path) != (0o700 if path.is_dir() else 0o600)}


def test_everything_that_is_kept_is_the_users_alone(used: Vault) -> None:
    paths = kept(used)
    assert wrong_modes(paths) == {}
    names = {path.name for path in paths}
    assert {"kb.sqlite", "kb.sqlite.lock", "lancedb", "vectors.sqlite", "derived.sqlite"} <= names
    assert any(path.suffix == ".log" for path in paths)
    assert any(path.suffix == ".lance" and path.is_file() for path in paths)
    assert any(path.parent.parent.name == "assets" for path in paths)
    assert any(path.parent.parent.name == "artifacts" for path in paths)


def test_the_files_of_a_database_in_use_are_the_users_alone(used: Vault) -> None:
    from kb.store.connection import open_writer

    with kept_private():
        db = open_writer(used.sqlite)
        try:
            with db:
                db.execute("CREATE TABLE probe (x INTEGER) STRICT")
            assert {path.name: mode(path) for path in used.sqlite.parent.glob("kb.sqlite-*")} == {
                "kb.sqlite-shm": 0o600,
                "kb.sqlite-wal": 0o600,
            }
        finally:
            db.close()


def test_the_notes_keep_their_modes(used: Vault) -> None:
    assert mode(used.root / "chunking.md") == 0o600
    assert mode(used.root / "hostile.md") == 0o644
    assert mode(used.root) == 0o755


def opened_up(vault: Vault) -> None:
    """As earlier versions left it."""
    for path in kept(vault):
        path.chmod(0o755 if path.is_dir() else 0o644)


def test_the_next_ingest_closes_what_an_earlier_version_left_open(used: Vault) -> None:
    opened_up(used)
    assert call(used, "ingest").code == 0
    assert wrong_modes(kept(used)) == {}


def test_doctor_says_what_is_open_to_others(used: Vault) -> None:
    def check() -> dict[str, object]:
        checks = {each["name"]: each for each in call(used, "doctor", "--json").json["checks"]}
        found: dict[str, object] = checks["closed_to_others"]
        return found

    assert check()["ok"] is True
    (log,) = (used.config.parent / "logs").iterdir()
    log.chmod(0o644)
    said = check()
    assert said["ok"] is False
    assert str(log) in str(said["detail"])
    assert "chmod" in str(said["hint"])


def test_folders_that_are_not_kbs_alone_are_left_as_they_are(used: Vault) -> None:
    """A data directory that holds the notes, or is the home directory, is not kb's to close."""
    home = Path(os.environ["HOME"])
    for folder in (home, used.config.parent):
        folder.chmod(0o755)
        (folder / "mine.txt").write_text("mine")
        assert call(used, "--set", f"storage.data_dir={folder}", "ingest", "--no-embed").code == 0
        assert (mode(folder), mode(folder / "mine.txt")) == (0o755, 0o644)
        assert mode(folder / "kb.sqlite") == 0o600


def test_a_shared_model_folder_is_left_as_it_is(used: Vault, tmp_path: Path) -> None:
    models = tmp_path / "shared-models"
    models.mkdir()
    (models / "weights").write_text("x")
    assert call(used, "--set", f"storage.model_dir={models}", "ingest").code == 0
    assert (mode(models), mode(models / "weights")) == (0o755, 0o644)


def test_init_closes_its_own_and_makes_the_notes_folder_as_the_shell_would(tmp_path: Path) -> None:
    root = tmp_path / "my" / "notes"
    assert run_kb("init", "--root", str(root)).code == 0
    home = Path(os.environ["HOME"])
    assert [mode(path) for path in (root, root.parent)] == [0o755, 0o755]
    own = [home / ".config/kb", home / ".config/kb/config.toml", home / ".local/share/kb"]
    assert wrong_modes([*own, *own[-1].rglob("*")]) == {}


def test_an_init_file_of_an_earlier_version_is_closed_when_it_is_written_again(used: Vault) -> None:
    file = used.config.parent / "gateway.rc"
    assert mode(file) == 0o600
    file.chmod(0o644)
    assert call(used, "sql", "--rc", str(file)).code == 0
    assert mode(file) == 0o600


def test_what_is_made_for_the_user_has_the_mode_their_shell_gives(tmp_path: Path) -> None:
    with kept_private():
        make_folder_for_user(tmp_path / "a" / "b")
        with open_for_user(tmp_path / "a" / "b" / "report.html") as file:
            file.write("가")
    assert [mode(tmp_path / name) for name in ("a", "a/b", "a/b/report.html")] == [0o755, 0o755, 0o644]
    assert (tmp_path / "a/b/report.html").read_text(encoding="utf-8") == "가"


def test_a_file_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    report.write_text("a longer text than the next one")
    report.chmod(0o640)
    with kept_private(), open_for_user(report) as file:
        file.write("short")
    assert (mode(report), report.read_text()) == (0o640, "short")


def test_a_program_that_is_opened_has_the_users_umask_and_environment(used: Vault, tmp_path: Path) -> None:
    program = tmp_path / "editor"
    program.write_text(f'#!/bin/sh\numask > "{tmp_path}/umask"\nenv > "{tmp_path}/env"\n')
    program.chmod(0o755)
    assert run_kb("--config", str(used.config), "open", "chunking.md#L1", env={"VISUAL": str(program)}).code == 0
    assert (tmp_path / "umask").read_text().strip() == "0022"
    assert "HF_HUB_OFFLINE" not in (tmp_path / "env").read_text()


def test_umask_and_environment_are_the_callers_again_afterwards() -> None:
    before = users_surroundings()
    with kept_private():
        assert os.umask(PRIVATE_UMASK) == PRIVATE_UMASK
        with kept_private():
            assert users_surroundings() == before
        assert os.umask(PRIVATE_UMASK) == PRIVATE_UMASK
    assert users_surroundings() == before
