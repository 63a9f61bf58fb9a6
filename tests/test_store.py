"""The file: migrated from nothing and from older ones, never over a newer one; one writer at a time, readers go on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest
from conftest import Kb, Vault, indexed_vault, run_kb
from vaults import legacy_v1, next_migration

from kb.errors import DiskFull, NotIndexed, StoreBusy, StoreCorrupt, StoreError, StoreReadOnly
from kb.operations.opening import base as opening
from kb.operations.opening.writing import writing
from kb.store import queries
from kb.store.connection import (
    APPLICATION_ID,
    Migration,
    latest_version,
    migrations,
    open_reader,
    open_writer,
    schema_state,
    sqlite_errors,
    writer_lock,
)
from kb.store.migrate import migrate, repeatable_hash, repeatable_names
from kb.store.mirror import load_vector_functions, mirrored

__all__ = ["next_migration"]  # a fixture

NOW = "2026-01-01T00:00:00Z"


def names(db: apsw.Connection, kind: str) -> set[str]:
    rows = db.execute("SELECT name FROM sqlite_schema WHERE type = ? AND name NOT LIKE 'sqlite_%'", (kind,))
    return {name for (name,) in rows}


def checksums(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_an_empty_file_gets_the_whole_schema(tmp_path: Path) -> None:
    db = open_writer(tmp_path / "new" / "kb.sqlite")
    assert schema_state(db).schema_version == 0
    assert migrate(db, NOW)
    state = schema_state(db)
    assert (state.schema_version, state.repeatable_hash) == (latest_version(), repeatable_hash())
    assert db.pragma("application_id") == APPLICATION_ID
    assert {"documents", "chunks", "ingest_runs"} <= names(db, "table")
    assert {"document_overview", "chunk_source", "corpus_stats"} <= names(db, "view")
    assert names(db, "view") | names(db, "trigger") == set(repeatable_names())
    applied = db.execute("SELECT id, applied_at FROM migrations ORDER BY id").fetchall()
    assert applied == [(migration.number, NOW) for migration in migrations()]
    assert db.execute("PRAGMA integrity_check").get == "ok"


def test_a_current_file_is_left_alone(tmp_path: Path) -> None:
    db = open_writer(tmp_path / "kb.sqlite")
    migrate(db, NOW)
    before = db.total_changes()
    assert not migrate(db, "2027-01-01T00:00:00Z")
    assert db.total_changes() == before


def test_migrations_are_numbered_without_a_gap() -> None:
    assert [migration.number for migration in migrations()] == list(range(1, len(migrations()) + 1))
    assert all(migration.description for migration in migrations())


def test_a_file_of_the_first_release_migrates(tmp_path: Path) -> None:
    path = tmp_path / "kb.sqlite"
    legacy_v1(path)
    db = open_writer(path)
    assert migrate(db, NOW)
    assert schema_state(db).schema_version == latest_version()
    overview = db.execute("SELECT workspace_path, chunk_count FROM document_overview").fetchall()
    assert overview == [("a.md", 0)], "the old view was made again, the document kept"


def with_two_encoders(path: Path) -> None:
    """A file as kb made it while two encoders embedded: schema 17, a vector under each, one of a sentence."""
    db = apsw.Connection(str(path))
    load_vector_functions(db)
    for migration in migrations()[:17]:
        db.execute(migration.path.read_text(encoding="utf-8"))
        queries.insert_migration(db, id=migration.number, applied_at=NOW, description=migration.description)
    queries.upsert_meta(db, key="schema_version", value="17")
    queries.upsert_meta(db, key="repeatable_hash", value="old")
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    for slot in ("primary", "secondary"):
        db.execute(
            f"""
            CREATE VIRTUAL TABLE vec_{slot} USING vec0(
              chunk_rowid INTEGER PRIMARY KEY, lang TEXT PARTITION KEY, embedding FLOAT[2] distance_metric=cosine
            );
            INSERT INTO vec_{slot} VALUES (1, 'ko', x'0000803f00000000');
            INSERT INTO embedding_slots VALUES ('{slot}', 'old-{slot}', '1', 2, 'table_{slot}', '2026');
            INSERT INTO chunk_sentences VALUES (1, {len(slot)}, 0, 0, x'7f00');
            """
        )
    db.close()


def test_a_file_of_two_encoders_keeps_the_vectors_that_are_searched(tmp_path: Path) -> None:
    path = tmp_path / "kb.sqlite"
    with_two_encoders(path)
    with writing(path) as db:
        assert mirrored(db) == ("old-primary", "1", 2, "table_primary")
        assert db.execute("SELECT chunk_rowid FROM vec_primary").fetchall() == [(1,)]
        tables = names(db, "table")
        assert [name for name in tables for gone in ("secondary", "sentence") if gone in name] == []
        assert "chunk_tokens" in tables


def test_a_pending_migration_runs_once_and_is_recorded(tmp_path: Path, next_migration: Migration) -> None:
    path = tmp_path / "kb.sqlite"
    legacy_v1(path)
    db = open_writer(path)
    migrate(db, NOW)
    assert not migrate(db, NOW)
    assert "added" in names(db, "table")
    assert db.execute("SELECT id, description FROM migrations").fetchall()[-1] == (next_migration.number, "add a table")


def test_a_migration_that_fails_leaves_the_old_schema_whole(tmp_path: Path, next_migration: Migration) -> None:
    path = tmp_path / "kb.sqlite"
    legacy_v1(path)
    next_migration.path.write_text("CREATE TABLE added (x); DROP TABLE not_there;", encoding="utf-8")
    db = open_writer(path)
    with pytest.raises(apsw.SQLError):
        migrate(db, NOW)
    assert schema_state(db).schema_version == 1
    assert "added" not in names(db, "table")
    assert names(db, "view") == {"document_overview"}


def test_searching_an_older_file_migrates_it(fresh_vault: Vault, next_migration: Migration) -> None:
    fresh_vault.sqlite.parent.mkdir()
    legacy_v1(fresh_vault.sqlite)
    ran = run_kb("--config", str(fresh_vault.config), "list", "docs")
    assert (ran.code, ran.stderr) == (0, "")
    assert "a.md" in ran.stdout
    assert "added" in names(open_reader(fresh_vault.sqlite), "table")


def test_a_search_waits_for_another_that_migrates_and_answers(
    fresh_vault: Vault, next_migration: Migration, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one still holds the writer lock when the tables are as this kb reads them: an ingest, for an hour."""
    fresh_vault.sqlite.parent.mkdir()
    legacy_v1(fresh_vault.sqlite)
    waits = []

    def migrated_elsewhere(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 2:
            with closing(open_writer(fresh_vault.sqlite)) as db:
                migrate(db, NOW)

    with another_writer(fresh_vault.sqlite), monkeypatch.context() as patch:
        patch.setattr("time.sleep", migrated_elsewhere)
        ran = run_kb("--config", str(fresh_vault.config), "list", "docs")
    assert (ran.code, ran.stderr) == (0, "")
    assert "a.md" in ran.stdout
    assert len(waits) == 2


def test_an_older_kb_that_goes_on_writing_is_named(
    fresh_vault: Vault, next_migration: Migration, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh_vault.sqlite.parent.mkdir()
    legacy_v1(fresh_vault.sqlite)
    monkeypatch.setattr(opening, "MOST_WAIT_S", 0)
    with another_writer(fresh_vault.sqlite) as process:
        ran = run_kb("--config", str(fresh_vault.config), "list", "docs")
    assert ran.code == 2
    assert f"process {process.pid}" in ran.stderr


def test_what_a_user_added_stays_when_views_are_made_anew(tmp_path: Path) -> None:
    db = open_writer(tmp_path / "kb.sqlite")
    migrate(db, NOW)
    db.execute("CREATE VIEW my_view AS SELECT doc_id FROM document_overview")
    db.execute("UPDATE schema_meta SET value = 'old' WHERE key = 'repeatable_hash'")
    assert migrate(db, NOW)
    assert "my_view" in names(db, "view")
    assert db.execute("SELECT count(*) FROM my_view").get == 0


@pytest.mark.parametrize(
    "command", [["ingest"], ["search", "x"], ["list", "docs"], ["init"], ["index", "--rebuild-fts"]]
)
def test_a_newer_schema_is_refused_and_untouched(command: list[str], fresh_vault: Vault) -> None:
    fresh_vault.sqlite.parent.mkdir()
    legacy_v1(fresh_vault.sqlite)
    db = apsw.Connection(str(fresh_vault.sqlite))
    db.execute("UPDATE schema_meta SET value = '99' WHERE key = 'schema_version'")
    db.close()
    before = checksums(fresh_vault.sqlite.parent)
    ran = run_kb("--config", str(fresh_vault.config), *command)
    assert ran.code == 2
    assert "schema 99" in ran.stderr
    assert "update kb" in ran.stderr
    assert checksums(fresh_vault.sqlite.parent) == before


@pytest.mark.parametrize("command", [["ingest"], ["search", "x"], ["init"]])
def test_another_programs_database_is_refused_and_untouched(command: list[str], fresh_vault: Vault) -> None:
    fresh_vault.sqlite.parent.mkdir()
    db = apsw.Connection(str(fresh_vault.sqlite))
    db.execute("CREATE TABLE photos (x)")
    db.close()
    before = checksums(fresh_vault.sqlite.parent)
    ran = run_kb("--config", str(fresh_vault.config), *command, "--json")
    assert ran.code == 2
    assert '"store_foreign"' in ran.stderr
    assert checksums(fresh_vault.sqlite.parent) == before


@pytest.mark.parametrize("command", [["ingest"], ["search", "x"], ["init"], ["doctor"]])
def test_a_file_that_is_no_database_is_refused_and_untouched(command: list[str], fresh_vault: Vault) -> None:
    fresh_vault.sqlite.parent.mkdir()
    fresh_vault.sqlite.write_bytes(b"# my notes, named badly\n" * 100)
    before = fresh_vault.sqlite.read_bytes()
    ran = run_kb("--config", str(fresh_vault.config), *command)
    assert ran.code == (3 if command == ["doctor"] else 2)
    assert "not a SQLite database" in ran.stdout + ran.stderr
    assert "hint:" in ran.stdout + ran.stderr
    assert fresh_vault.sqlite.read_bytes() == before


def test_a_damaged_file_is_told_from_a_missing_one(vault: Vault, tmp_path: Path) -> None:
    with pytest.raises(NotIndexed):
        open_reader(tmp_path / "kb.sqlite")
    data = bytearray(vault.sqlite.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    (tmp_path / "kb.sqlite").write_bytes(data)
    with pytest.raises(StoreCorrupt) as caught:
        open_reader(tmp_path / "kb.sqlite")
    assert "kb ingest" in str(caught.value.hint)


def test_a_copy_of_a_knowledge_base_serves_as_well(vault: Vault, tmp_path: Path, kb: Kb) -> None:
    shutil.copy(vault.sqlite, tmp_path / "kb.sqlite")
    copied = run_kb("--config", str(vault.config), "--set", f"storage.sqlite={tmp_path / 'kb.sqlite'}", "list", "docs")
    assert copied.stdout == kb("list", "docs").stdout


HOLD = """
import sys
from pathlib import Path
from kb.store.connection import writer_lock
with writer_lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def another_writer(sqlite: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the writer lock until the block ends."""
    command = [sys.executable, "-c", HOLD, str(sqlite)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def test_a_second_writer_is_told_of_the_first_and_readers_go_on(fresh_vault: Vault) -> None:
    call = ("--config", str(fresh_vault.config))
    assert run_kb(*call, "init").code == 0
    with another_writer(fresh_vault.sqlite) as process:
        for command in (["ingest"], ["index", "--rebuild-fts"]):
            ran = run_kb(*call, *command)
            assert ran.code == 2
            assert f"process {process.pid}" in ran.stderr
            assert "hint:" in ran.stderr
        assert run_kb(*call, "list", "docs").code == 1
        assert run_kb(*call, "search", "gateway").code == 1
        process.kill()
        process.wait()
        with writer_lock(fresh_vault.sqlite):  # freed however its holder ended
            pass


def test_the_lock_excludes_within_one_process_too(tmp_path: Path) -> None:
    path = tmp_path / "kb.sqlite"
    with writer_lock(path), pytest.raises(StoreBusy, match=str(os.getpid())), writer_lock(path):
        pytest.fail("two writers")
    with writer_lock(path):
        pass


def test_a_reader_is_not_blocked_by_an_open_transaction(tmp_path: Path) -> None:
    path = tmp_path / "kb.sqlite"
    writer = open_writer(path)
    migrate(writer, "2026-01-01T00:00:00Z")
    with writer:
        writer.execute("INSERT INTO kv VALUES ('x', 1)")
        reader = open_reader(path)
        assert reader.execute("SELECT count(*) FROM kv WHERE key = 'x'").get == 0
    assert reader.execute("SELECT count(*) FROM kv WHERE key = 'x'").get == 1


def test_a_reader_cannot_write(vault: Vault) -> None:
    reader = open_reader(vault.sqlite)
    with pytest.raises(StoreReadOnly), sqlite_errors(vault.sqlite):
        reader.execute("DELETE FROM documents")


def test_a_read_only_medium_is_searched_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There SQLite cannot make the shared-memory file of a WAL database: the file is opened as immutable."""
    vault = indexed_vault(tmp_path)
    opened: list[str] = []
    connect: Any = apsw.Connection

    def without_shared_memory(name: str, **options: Any) -> apsw.Connection:
        opened.append(name)
        if not name.startswith("file:"):
            raise apsw.CantOpenError("unable to open database file")
        connection: apsw.Connection = connect(name, **options)
        return connection

    monkeypatch.setattr(apsw, "Connection", without_shared_memory)
    with pytest.raises(StoreError, match="cannot be opened"):
        open_reader(vault.sqlite)  # a writable folder: something else is wrong
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    ran = run_kb("--config", str(vault.config), "search", "gateway", "--mode", "lexical")
    assert (ran.code, ran.stderr) == (0, "")
    assert opened[-1].endswith("kb.sqlite?immutable=1")


def test_a_data_directory_that_cannot_be_made(fresh_vault: Vault) -> None:
    fresh_vault.sqlite.parent.write_text("a file where the folder should be")
    for command in (["ingest"], ["init"]):
        ran = run_kb("--config", str(fresh_vault.config), *command, "--json")
        assert ran.code == 2
        assert '"store_readonly"' in ran.stderr
        assert '"hint":"' in ran.stderr.replace('": "', '":"')


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (apsw.FullError("full"), DiskFull),
        (apsw.ReadOnlyError("ro"), StoreReadOnly),
        (apsw.BusyError("busy"), StoreBusy),
        (apsw.LockedError("locked"), StoreBusy),
        (apsw.IOError("disk"), StoreError),
    ],
)
def test_sqlites_failures_in_our_words(raised: Exception, expected: type[StoreError], tmp_path: Path) -> None:
    with pytest.raises(expected) as caught, sqlite_errors(tmp_path / "kb.sqlite"):
        raise raised
    assert type(caught.value) is expected
    assert caught.value.__cause__ is raised
    assert caught.value.hint


def test_a_second_connection_of_a_process_leaves_the_first_its_locks(tmp_path: Path) -> None:
    """Without them, another process that closes the database takes itself for the last one and removes the log."""
    path = tmp_path / "kb.sqlite"
    look = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); print(db.execute(sys.argv[2]).fetchone())"
    look += "; db.close()"

    def seen(statement: str) -> str:
        return subprocess.run(
            [sys.executable, "-c", look, str(path), statement], capture_output=True, text=True, check=True
        ).stdout

    with writing(path, create=True) as first:
        open_writer(path).close()
        seen("SELECT count(*) FROM documents")
        queries.upsert_meta(first, key="written", value="later")
        assert seen("SELECT value FROM schema_meta WHERE key = 'written'") == "('later',)\n"
