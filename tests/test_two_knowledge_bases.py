"""Two configurations, two folders of notes: neither knowledge base loses a document to the other."""

from __future__ import annotations

import json
import os
from pathlib import Path

import apsw
import pytest
from conftest import NOTES, Ran, run_kb, write_notes

OTHERS = {"tea.md": "# Tea\n\nA teapot holds a litre.\n"}


@pytest.fixture
def home(away_from_home: Path) -> Path:
    """A home directory with two folders of notes."""
    write_notes(away_from_home / "notes")
    write_notes(away_from_home / "other", OTHERS)
    return away_from_home


def listed(*config: str) -> set[str]:
    ran = run_kb(*config, "list", "docs", "--json")
    return {document["doc_path"] for document in ran.lines} if ran.stdout else set()


def set_up(home: Path, folder: str, *config: str) -> Ran:
    assert run_kb(*config, "init", "--root", str(home / folder)).code == 0
    return run_kb(*config, "ingest", "--no-embed")


def test_a_second_configuration_removes_nothing_of_the_first(home: Path) -> None:
    second = ("--config", str(home / "two.toml"))
    assert set_up(home, "notes").code == 0
    assert set_up(home, "other", *second).code == 0
    assert (listed(), listed(*second)) == (set(NOTES), set(OTHERS))
    third = ("--config", str(home / "sub" / "two.toml"))  # of the same name, elsewhere
    assert set_up(home, "other", *third).code == 0
    assert run_kb("ingest", "--no-embed").code == 0
    assert (listed(), listed(*second), listed(*third)) == (set(NOTES), set(OTHERS), set(OTHERS))


def test_knowledge_bases_share_the_installed_models(home: Path) -> None:
    set_up(home, "notes")
    set_up(home, "other", "--config", str(home / "two.toml"))
    places = []
    for config in ((), ("--config", str(home / "two.toml"))):
        places.append(run_kb(*config, "config", "show", "--json").json["values"]["storage.model_dir"]["value"])
    expanded = [place.replace("{data_dir}", "${XDG_DATA_HOME:-~/.local/share}/kb") for place in places]
    assert expanded[0] == expanded[1]


def test_init_with_force_keeps_the_data_directory_that_the_file_names(home: Path) -> None:
    config = ("--config", str(home / "two.toml"))
    set_up(home, "other", *config)
    (home / "two.toml").write_text(f'[storage]\ndata_dir = "{home / "own"}"\n[workspace]\nroot = "{home / "other"}"\n')
    assert run_kb(*config, "ingest", "--no-embed").code == 0
    assert run_kb(*config, "init", "--force", "--root", str(home / "other")).code == 0
    assert listed(*config) == set(OTHERS)
    assert (home / "own" / "kb.sqlite").exists()


@pytest.mark.parametrize("options", [[], ["--dry-run"], ["tea.md"]])
def test_ingest_refuses_a_database_that_was_made_from_another_folder(home: Path, options: list[str]) -> None:
    set_up(home, "notes")
    there = ("--set", f"workspace.root={home / 'other'}")
    for _ in range(2):  # a refusal leaves no trace that the next run would trust
        ran = run_kb(*there, "ingest", "--no-embed", "--json", *options)
        assert ran.code == 2
        error = json.loads(ran.stderr)
        assert error["code"] == "other_workspace"
        assert (str(home / "notes") in error["message"], "--moved" in error["hint"]) == (True, True)
    assert listed() == set(NOTES)


def test_a_folder_that_was_renamed_goes_on_with_moved(home: Path) -> None:
    set_up(home, "notes")
    os.rename(home / "notes", home / "renamed")
    there = ("--set", f"workspace.root={home / 'renamed'}")
    assert run_kb(*there, "ingest", "--no-embed").code == 2
    report = run_kb(*there, "ingest", "--no-embed", "--moved", "--json").lines[-1]
    assert (report["removed"], report["new"]) == (0, 0)
    assert run_kb(*there, "ingest", "--no-embed").code == 0
    hit = run_kb(*there, "search", "backoff", "--mode", "lexical", "--json").json["hits"][0]
    assert run_kb(*there, "open", hit["citation"]["uri"], "--print").stdout.count("/renamed/") == 1


def test_a_link_to_the_same_folder_is_the_same_workspace(home: Path) -> None:
    set_up(home, "notes")
    os.symlink(home / "notes", home / "link")
    assert run_kb("--set", f"workspace.root={home / 'link'}", "ingest", "--no-embed").code == 0


def test_a_run_that_was_killed_before_its_end_left_its_folder(home: Path) -> None:
    set_up(home, "notes")

    db = apsw.Connection(str(home / ".local/share/kb/kb.sqlite"))
    db.execute("DELETE FROM ingest_runs").fetchall()
    db.close()
    assert run_kb("--set", f"workspace.root={home / 'other'}", "ingest", "--no-embed").code == 2
    db = apsw.Connection(str(home / ".local/share/kb/kb.sqlite"))
    assert db.execute("SELECT value FROM kv WHERE key = 'workspace_root'").get == str(home / "notes")
    db.execute("DELETE FROM kv WHERE key = 'workspace_root'").fetchall()  # as an earlier version left it
    db.close()
    assert run_kb("ingest", "--no-embed").code == 0
