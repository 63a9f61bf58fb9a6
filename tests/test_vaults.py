"""Named knowledge bases: `kb vault`, and `--vault NAME` before any command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import make_vault, run_kb, write_notes
from watching import HAND_OVER, NOT_HANDED_OVER, wait_until_warm, watch

TEA = {"tea.md": "# Tea\n\nA teapot holds a litre. The kettle is blue.\n"}
COFFEE = {"coffee.md": "# Coffee\n\nThe coffee pot holds two litres. The kettle is red.\n"}
WORDS = ("--set", "search.mode=lexical")


@pytest.fixture
def home(away_from_home: Path) -> Path:
    """A home directory with the usual knowledge base and the vault `work`, both indexed."""
    for name, notes in (("tea", TEA), ("coffee", COFFEE)):
        write_notes(away_from_home / name, notes)
    assert run_kb("init", "--root", str(away_from_home / "tea")).code == 0
    assert run_kb("vault", "add", "work", str(away_from_home / "coffee")).code == 0
    for vault in ("default", "work"):
        assert run_kb("--vault", vault, "ingest", "--no-embed").code == 0
    return away_from_home


def paths(*args: str, env: dict[str, str] | None = None) -> list[str]:
    return [each["doc_path"] for each in run_kb(*args, "list", "docs", "--json", env=env).lines]


def test_a_command_works_in_the_vault_that_is_named(home: Path) -> None:
    assert (paths(), paths("--vault", "work"), paths("--vault=default")) == (["tea.md"], ["coffee.md"], ["tea.md"])
    work = {"KB_VAULT": "work"}
    assert (paths(env=work), paths("--vault", "default", env=work)) == (["coffee.md"], ["tea.md"])
    config = str(home / ".config/kb/config.toml")
    assert paths("--config", config, env=work) == ["tea.md"], "an option counts more than the environment"
    assert run_kb("--vault", "work", "config", "path").stdout.strip().endswith("/vaults/work/config.toml")


@pytest.mark.parametrize(
    ("args", "env"),
    [(("--config", "x.toml", "--vault", "work"), {}), ((), {"KB_CONFIG": "x.toml", "KB_VAULT": "work"})],
    ids=["options", "environment"],
)
def test_two_names_are_refused(home: Path, args: tuple[str, ...], env: dict[str, str]) -> None:
    ran = run_kb(*args, "status", env=env)
    assert (ran.code, "both name a knowledge base" in ran.stderr) == (2, True)


@pytest.mark.parametrize("name", ["wrok", "../../kb", "/etc", "w.", ""])
def test_an_unknown_name_is_an_error_with_the_nearest(home: Path, name: str) -> None:
    ran = run_kb("--vault", name, "status")
    if not name:
        assert ran.code == 0, "an empty one is none, as in KB_VAULT="
        return
    assert ran.code == 2
    assert "there is no vault" in ran.stderr
    assert ("did you mean work?" in ran.stderr) == (name == "wrok")


@pytest.mark.parametrize("name", ["default", "all", "a", "../x", "a b", "work"])
def test_a_name_that_cannot_be_is_refused(home: Path, name: str) -> None:
    ran = run_kb("vault", "add", name, str(home / "other"))
    assert (ran.code, (home / "other").exists()) == (2, False)


def test_a_configuration_that_is_there_gets_a_name(home: Path, tmp_path: Path) -> None:
    made = make_vault(tmp_path, COFFEE)
    assert run_kb("vault", "add", "old", str(made.config)).code == 0
    assert run_kb("--vault", "old", "ingest", "--no-embed").code == 0
    assert made.sqlite.exists(), "its relative paths count from its own folder"
    rows = {each["name"]: each for each in run_kb("--vault", "old", "vault", "list", "--json").lines}
    assert list(rows) == ["default", "old", "work"]
    assert (rows["old"]["config"], rows["old"]["is_chosen"]) == (str(made.config), True)
    made.config.write_text("[storage\n")
    shown = run_kb("vault", "list").stdout
    assert "→ default" in shown, "a broken one is a line of the list"
    assert "kb.toml" in shown


def test_removing_a_name_keeps_the_data_and_can_be_undone(home: Path) -> None:
    assert run_kb("vault", "remove", "work", "--dry-run").code == 0
    assert run_kb("vault", "remove", "work", stdin="n\n").code == 1
    assert paths("--vault", "work") == ["coffee.md"]
    ran = run_kb("vault", "remove", "work", "--yes")
    assert run_kb("--vault", "work", "status").code == 2
    subprocess.run(ran.stdout.partition("to undo: ")[2].split(), check=True)
    assert paths("--vault", "work") == ["coffee.md"]
    for _ in range(2):  # an earlier one that was removed is in nobody's way, and the data is found again
        assert run_kb("vault", "remove", "work", "--yes").code == 0
        assert run_kb("vault", "add", "work", str(home / "coffee")).code == 0
    assert paths("--vault", "work") == ["coffee.md"]


def test_the_data_goes_only_where_asked_and_that_of_no_other(home: Path) -> None:
    env = {"KB_STORAGE_DATA_DIR": str(home / ".local/share/kb")}  # that of the usual one
    ran = run_kb("vault", "remove", "work", "--data", "--dry-run", env=env)
    assert "vaults/work-" in ran.stdout
    assert paths("--vault", "work") == ["coffee.md"]
    assert run_kb("vault", "remove", "work", "--data", "--yes", env=env).code == 0
    assert not list(home.glob(".local/share/kb/vaults/*/kb.sqlite"))
    assert (paths(), (home / "coffee/coffee.md").exists()) == (["tea.md"], True)
    assert run_kb("vault", "remove", "default", "--yes").code == 2


def test_read_only_mode_changes_no_vault(home: Path) -> None:
    assert run_kb("--read-only", "vault", "add", "new", str(home / "new")).code == 2
    assert run_kb("--read-only", "vault", "remove", "work", "--yes").code == 2
    assert paths("--vault", "work") == ["coffee.md"]


@pytest.mark.slow
def test_kb_watch_answers_calls_of_its_vault(home: Path) -> None:
    config = home / ".config/kb/vaults/work/config.toml"
    with watch(config) as (_, env):
        wait_until_warm(config, env)

        def called(*args: str, **more: str) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, "-c", HAND_OVER, *args]
            return subprocess.run(command, env={**env, **more}, capture_output=True, text=True, check=False)

        assert "coffee.md" in called("--vault", "work", *WORDS, "search", "kettle").stdout
        assert "coffee.md" in called(*WORDS, "search", "kettle", KB_VAULT="work").stdout
        assert called(*WORDS, "search", "kettle").returncode == NOT_HANDED_OVER
        assert called("--vault=default", *WORDS, "search", "kettle").returncode == NOT_HANDED_OVER
