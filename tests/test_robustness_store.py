"""A full disk, a disk that cannot be written, a damaged knowledge base: an error with a hint, and nothing lost."""

from __future__ import annotations

import errno
import json
import os
import random
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import pytest
from conftest import run_kb
from ingest_fixtures import Workspace, counted

from kb.domain.ingest_events import AssetFinished, Finished
from kb.errors import DiskFull
from kb.store.connection import latest_version

NOTES = 60


def fill(workspace: Workspace) -> None:
    generator = random.Random(7)
    words = "anchor barrel cabin deck engine flag galley hull island jetty keel lantern mast net oar pier quay".split()
    for number in range(NOTES):
        text = " ".join(generator.choices(words, k=300))
        workspace.write(f"note-{number:02}.md", f"# Note {number}\n\n{text} word{number}.\n")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Sixty notes, not indexed."""
    made = Workspace(tmp_path / "workspace")
    fill(made)
    return made


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The same notes, indexed without a disturbance: compare with it, never change it."""
    made = Workspace(tmp_path_factory.mktemp("undisturbed") / "base")
    fill(made)
    made.ingest()
    return made


@pytest.fixture
def indexed(undisturbed: Workspace, tmp_path: Path) -> Workspace:
    """A copy of that for one test."""
    return undisturbed.copied_to(tmp_path / "indexed")


def same_contents(workspace: Workspace, undisturbed: Workspace) -> bool:
    """Whether two knowledge bases hold the same rows, but for the folders they were read from."""
    mine, other = (repr(each.contents()).replace(str(each.base), "") for each in (workspace, undisturbed))
    return mine == other


@contextmanager
def each_connection(statement: str) -> Iterator[None]:
    """Every connection opened inside runs `statement` first."""

    def hook(db: apsw.Connection) -> None:
        db.execute(statement)

    apsw.connection_hooks.append(hook)
    try:
        yield
    finally:
        apsw.connection_hooks.remove(hook)


@pytest.mark.slow
@pytest.mark.parametrize("pages", [130, 150, 180])
def test_a_full_disk_ends_the_run_truthfully_and_the_next_one_goes_on(
    workspace: Workspace, undisturbed: Workspace, pages: int
) -> None:
    with each_connection(f"PRAGMA max_page_count = {pages}"), pytest.raises(DiskFull) as full:
        workspace.ingest()
    assert full.value.hint
    finished = [event for event in workspace.events if isinstance(event, AssetFinished)]
    last = workspace.events[-1]
    assert isinstance(last, Finished)
    assert (last.kind, last.counts.new) == ("aborted", len(finished))
    assert 0 < len(finished) < NOTES
    assert len(workspace.paths()) == len(finished)
    assert workspace.is_sound()
    assert counted(workspace.ingest()) == {"new": NOTES - len(finished), "unchanged": len(finished)}
    assert same_contents(workspace, undisturbed)


@pytest.mark.parametrize("pages", [10, 150], ids=["too full to begin", "full on the way"])
def test_a_full_disk_is_one_error_of_the_program_with_a_hint(pages: int, workspace: Workspace) -> None:
    with each_connection(f"PRAGMA max_page_count = {pages}"):
        ran = run_kb("--config", str(workspace.config_path), "ingest", "--json")
    assert ran.code == 2
    error = json.loads(ran.stderr)
    assert (error["code"], bool(error["hint"])) == ("disk_full", True)
    assert "no room left" in error["message"]
    assert [line["kind"] for line in ran.lines[-1:]] == (["aborted"] if pages > 10 else [])
    assert workspace.ingest().counts.errors == 0
    assert len(workspace.paths()) == NOTES


@pytest.mark.slow
@pytest.mark.parametrize("most_kb", [40, 400])
def test_a_limit_on_the_size_of_files_is_told_as_one_and_the_next_run_goes_on(
    workspace: Workspace, undisturbed: Workspace, most_kb: int
) -> None:
    """What `ulimit -f` says: 40 KB is too little for an empty knowledge base, 400 for sixty notes."""
    command = shlex.join([sys.executable, "-m", "kb", "--config", str(workspace.config_path), "ingest"])
    limited = f"ulimit -f {most_kb}; exec {command}"
    ran = subprocess.run(["bash", "-c", limited], capture_output=True, encoding="utf-8")
    assert ran.returncode == 2
    assert "cannot grow" in ran.stderr
    assert "ulimit -f" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert workspace.ingest().counts.errors == 0
    assert workspace.is_sound()
    assert same_contents(workspace, undisturbed)


@pytest.mark.slow
def test_no_room_for_a_copy_ends_the_run_and_is_recorded(
    workspace: Workspace, undisturbed: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace, copied = os.replace, []

    def replace_until_full(source: str, target: str) -> None:
        if len(copied) == 40:
            raise OSError(errno.ENOSPC, "No space left on device")
        copied.append(target)
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", replace_until_full)
        with pytest.raises(DiskFull) as full:
            workspace.ingest()
    assert full.value.hint
    assert workspace.query("SELECT new_count, aborted FROM ingest_runs") == [(40, 1)]
    assert len(workspace.asset_copies()) == 40
    assert workspace.is_sound()
    assert counted(workspace.ingest()) == {"new": 20, "unchanged": 40}
    assert same_contents(workspace, undisturbed)


@pytest.mark.parametrize("command", [["ingest"], ["index", "--rebuild-fts"]], ids=" ".join)
def test_a_knowledge_base_that_cannot_be_written(indexed: Workspace, command: list[str]) -> None:
    before = indexed.contents()
    indexed.touch("note-00.md")
    with each_connection("PRAGMA query_only = ON"):
        ran = run_kb("--config", str(indexed.config_path), *command)
        found = run_kb("--config", str(indexed.config_path), "search", "anchor")
    assert (ran.code, found.code) == (2, 0)
    assert "cannot be written" in ran.stderr
    assert "hint:" in ran.stderr
    assert indexed.contents() == before


COMMANDS = (
    ["search", "anchor"],
    ["list", "docs"],
    ["inspect", "doc", "note-00.md"],
    ["schema"],
    ["doctor"],
    ["index", "--rebuild-fts"],
    ["ingest"],
)


@pytest.mark.parametrize("seed", range(8))
def test_damage_anywhere_in_the_file_is_an_error_with_a_hint_or_does_no_harm(indexed: Workspace, seed: int) -> None:
    generator = random.Random(seed)
    data = bytearray(indexed.sqlite.read_bytes())
    pages = len(data) // 4096
    for page in generator.sample(range(1, pages), k=max(1, pages // generator.choice([2, 6, 20]))):
        data[4096 * page : 4096 * (page + 1)] = generator.randbytes(4096)
    indexed.sqlite.write_bytes(data)
    indexed.write("note-00.md", "# Rewritten\n")
    for command in COMMANDS:
        ran = run_kb("--config", str(indexed.config_path), *command)
        assert ran.code in (0, 1, 2, 3)
        if ran.code == 2:
            assert "error:" in ran.stderr
            assert "hint:" in ran.stderr
    assert run_kb("--config", str(indexed.config_path), "doctor").code == 3


@pytest.mark.slow
def test_a_damaged_knowledge_base_moved_away_is_rebuilt_from_the_files(workspace: Workspace) -> None:
    workspace.ingest()
    before = workspace.contents()
    workspace.sqlite.write_bytes(b"not a database at all" * 1000)
    failed = run_kb("--config", str(workspace.config_path), "ingest")
    assert failed.code == 2
    assert "move it away" in failed.stderr
    for path in workspace.sqlite.parent.glob("kb.sqlite*"):
        path.unlink()
    assert counted(workspace.ingest()) == {"new": NOTES}
    assert workspace.contents() == before


@pytest.mark.parametrize("content", [b"", b"S"], ids=["empty", "one byte"])
@pytest.mark.parametrize(
    "command",
    [
        ["search", "anchor"],
        ["ask", "What holds the ship?"],
        ["list", "docs"],
        ["index", "--rebuild-fts"],
        ["reset", "index", "--yes"],
        ["eval", "list"],
    ],
    ids=" ".join,
)
def test_a_file_cut_to_nothing_is_an_error_and_stays_as_it_is(
    workspace: Workspace, command: list[str], content: bytes
) -> None:
    workspace.sqlite.parent.mkdir()
    workspace.sqlite.write_bytes(content)
    ran = run_kb("--config", str(workspace.config_path), *command)
    assert (ran.code, ran.stdout) == (2, "")
    assert "is empty" in ran.stderr
    assert "kb ingest" in ran.stderr
    assert workspace.sqlite.read_bytes() == content
    assert run_kb("--config", str(workspace.config_path), "doctor").code == 3


def test_an_ingest_fills_a_file_cut_to_nothing(workspace: Workspace) -> None:
    workspace.sqlite.parent.mkdir()
    workspace.sqlite.write_bytes(b"")
    assert counted(workspace.ingest()) == {"new": NOTES}


@pytest.mark.parametrize(
    "damage",
    [
        *(f"UPDATE schema_meta SET value = '{value}' WHERE key = 'schema_version'" for value in ("3", "", "-1", "x")),
        f"UPDATE schema_meta SET value = '{latest_version()}.5' WHERE key = 'schema_version'",
        "DELETE FROM schema_meta WHERE key = 'schema_version'",
        "DELETE FROM schema_meta",
        "DROP TABLE schema_meta",
        "DELETE FROM migrations",
        "DROP TABLE migrations",
    ],
)
def test_a_wrong_or_lost_schema_version_is_told_as_damage_by_every_command(indexed: Workspace, damage: str) -> None:
    with closing(apsw.Connection(str(indexed.sqlite))) as db:
        db.execute(damage)
    before = indexed.sqlite.read_bytes()
    for command in (["search", "anchor"], ["ask", "anchor?"], ["list", "docs"], ["ingest"], ["index", "--rebuild-fts"]):
        ran = run_kb("--config", str(indexed.config_path), *command)
        assert ran.code == 2, command
        assert "hint:" in ran.stderr
        assert "did not foresee" not in ran.stderr
    checks = run_kb("--config", str(indexed.config_path), "doctor", "--json").json["checks"]
    assert "sqlite_open" in {check["name"] for check in checks if check["ok"] is False}
    assert indexed.sqlite.read_bytes() == before


def test_an_ingest_that_finds_nothing_new_makes_lost_copies_again(workspace: Workspace) -> None:
    workspace.ingest()
    gone, cut = sorted(path for path in workspace.config.asset_dir.rglob("*") if path.is_file())[:2]
    sound = gone.read_bytes(), cut.read_bytes()
    gone.unlink()
    cut.write_bytes(sound[1][:-1])
    assert counted(workspace.ingest()) == {"unchanged": NOTES}
    assert (gone.read_bytes(), cut.read_bytes()) == sound


def test_what_a_run_left_that_ended_before_its_clean_up_is_removed_by_the_next(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.ingest()
    copies = workspace.asset_copies()
    workspace.write("note-00.md", "# Rewritten\n")
    with monkeypatch.context() as patch:
        patch.setattr("kb.operations.ingest.ingest.unreferenced_assets", interrupted)
        with pytest.raises(KeyboardInterrupt):
            workspace.ingest()
    assert len(workspace.asset_copies()) == len(copies) + 1
    assert counted(workspace.ingest()) == {"unchanged": NOTES}
    assert len(workspace.asset_copies()) == len(copies)


def interrupted(*args: object) -> None:
    raise KeyboardInterrupt


def test_a_content_is_named_after_its_first_path_whichever_came_first(workspace: Workspace) -> None:
    workspace.write("twin-b.md", "# Twin\n")
    workspace.ingest()
    workspace.write("twin-a.md", "# Twin\n")
    workspace.ingest()
    named = workspace.query("SELECT workspace_path, source_uri FROM assets WHERE workspace_path LIKE 'twin%'")
    assert named == [("twin-a.md", str(workspace.root / "twin-a.md"))]
