"""`kb doctor` is the last to die: it tells of every damage that SQLite can find, and ends with its checks."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from conftest import Ran, Vault, copy_vault, make_vault, run_kb

PAGE_BYTES = 4096
NOTES = {
    f"note-{number}.md": f"# Note {number}\n\n" + f"anchor {number} barrel 배터리 전원 센서 {number} " * 120
    for number in range(30)
}


def doctor(vault: Vault, *options: str) -> Ran:
    return run_kb("--config", str(vault.config), "doctor", "--json", *options)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    """Notes that fill a hundred pages, indexed: copy it."""
    made = make_vault(tmp_path_factory.mktemp("built") / "vault")
    for name, text in NOTES.items():
        (made.root / name).write_text(text, encoding="utf-8")
    assert run_kb("--config", str(made.config), "ingest", "--no-embed").code == 0
    return made


@pytest.fixture
def indexed(built: Vault, tmp_path: Path) -> Vault:
    """A copy of it for one test, all of it in the one file."""
    made = copy_vault(built.config.parent, tmp_path / "vault")
    db = apsw.Connection(str(made.sqlite))
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    db.close()
    return made


def is_sound(path: Path) -> bool:
    """What SQLite itself says of the file."""
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        rows = [row[0] for row in db.execute("PRAGMA integrity_check")]
        return rows == ["ok"] and not list(db.execute("PRAGMA foreign_key_check"))
    except apsw.Error:
        return False
    finally:
        db.close()


def overwrite(data: bytearray, at: int, dice: random.Random) -> None:
    data[at : at + PAGE_BYTES] = dice.randbytes(PAGE_BYTES)


def flip(data: bytearray, at: int, dice: random.Random) -> None:
    for _ in range(8):
        data[at + dice.randrange(PAGE_BYTES)] ^= 1 << dice.randrange(8)


def zero(data: bytearray, at: int, dice: random.Random) -> None:
    data[at + 8 : at + PAGE_BYTES] = bytes(PAGE_BYTES - 8)


@pytest.mark.slow
@pytest.mark.parametrize("damage", [overwrite, flip, zero])
def test_doctor_finds_each_page_damage_that_sqlite_can_find(
    indexed: Vault, damage: Callable[[bytearray, int, random.Random], None]
) -> None:
    sound = indexed.sqlite.read_bytes()
    dice = random.Random(11)
    pages = len(sound) // PAGE_BYTES
    found = 0
    for page in dice.sample(range(pages), pages):
        data = bytearray(sound)
        damage(data, page * PAGE_BYTES, dice)
        indexed.sqlite.write_bytes(data)
        expected = is_sound(indexed.sqlite)
        ran = doctor(indexed)
        assert (ran.code, ran.stderr) == (3, "")
        failed = {check["name"] for check in ran.json["checks"] if not check["ok"]}
        if not expected:
            found += 1
            assert failed & {"sqlite_open", "sqlite_integrity", "references"}, page
        if found == 4:
            break
    assert found == 4


@pytest.mark.slow
def test_doctor_ends_whichever_table_is_dropped(indexed: Vault) -> None:
    sound = indexed.sqlite.read_bytes()
    db = apsw.Connection(str(indexed.sqlite), flags=apsw.SQLITE_OPEN_READONLY)
    names = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'").fetchall()
    db.close()
    for (name,) in names:
        indexed.sqlite.write_bytes(sound)
        db = apsw.Connection(str(indexed.sqlite))
        try:
            db.execute(f"PRAGMA foreign_keys = OFF; DROP TABLE {name}").fetchall()
        except apsw.Error:  # a table of FTS5's own
            continue
        finally:
            db.close()
        ran = doctor(indexed)
        assert (ran.code, ran.stderr) == (3, ""), name


def test_doctor_ends_wherever_the_file_is_cut(indexed: Vault) -> None:
    sound = indexed.sqlite.read_bytes()
    for length in (0, 1, 99, 100, 4095, 4096, 5000, 40_960, len(sound) // 2, len(sound) - 4096, len(sound) - 1):
        indexed.sqlite.write_bytes(sound[:length])
        ran = doctor(indexed)
        assert (ran.code, ran.stderr) == (3, ""), length
        assert not all(check["ok"] for check in ran.json["checks"] if check["name"].startswith("sqlite")), length


def test_a_row_that_refers_to_nothing_is_a_fault(indexed: Vault) -> None:
    db = apsw.Connection(str(indexed.sqlite))
    db.execute("PRAGMA foreign_keys = OFF; INSERT INTO document_tags VALUES ('no such document', 'tag')").fetchall()
    db.close()
    checks = {check["name"]: check["ok"] for check in doctor(indexed).json["checks"]}
    assert checks["references"] is False
    assert "references" not in {check["name"] for check in doctor(indexed, "--quick").json["checks"]}


def test_a_sound_file_passes_both_ways(indexed: Vault) -> None:
    for options in ((), ("--quick",)):
        checks = {check["name"]: check["ok"] for check in doctor(indexed, *options).json["checks"]}
        assert checks["sqlite_integrity"] is True
