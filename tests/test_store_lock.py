"""One writer at a time, told who the other is; readers never wait; and a place where nothing can be written."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest
from conftest import Vault, run_kb

from kb.errors import DiskFull, StoreBusy, StoreError, StoreReadOnly
from kb.store.connection import open_reader, open_writer, sqlite_errors, writer_lock
from kb.store.migrate import migrate

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


def test_a_read_only_medium_is_searched_all_the_same(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    """There SQLite cannot make the shared-memory file of a WAL database: the file is opened as immutable."""
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
