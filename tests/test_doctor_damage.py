"""`kb doctor` is the last to die: it tells of every damage that SQLite can find, and ends with its checks."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from conftest import Ran, Vault, copy_vault, kb_in, make_vault
from fake_embedder import PRIMARY, FakeModels, models

from kb.store.migrate import made_objects
from kb.store.mirror import load_vector_functions

__all__ = ["models"]

DAMAGES = int(os.environ.get("KB_DAMAGES", "15"))

PAGE_BYTES = 4096
NOTES = {
    f"note-{number}.md": f"# Note {number}\n\n" + f"anchor {number} barrel 배터리 전원 센서 {number} " * 120
    for number in range(30)
}


def doctor(vault: Vault, *options: str) -> Ran:
    return kb_in(vault)("doctor", "--json", *options)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    """Notes that fill a hundred pages, indexed: copy it."""
    made = make_vault(tmp_path_factory.mktemp("built") / "vault")
    for name, text in NOTES.items():
        (made.root / name).write_text(text, encoding="utf-8")
    assert kb_in(made)("ingest", "--no-embed").code == 0
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
        faults = failed(doctor(indexed)).keys()
        if not expected:
            found += 1
            assert faults & {"sqlite_open", "sqlite_integrity", "references"}, page
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


# Damage of every kind that a knowledge base with vectors can suffer, and the command that mends it


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory, models: FakeModels) -> Vault:
    """Notes with vectors and sentences under two models, all of the database in its one file: copy it."""
    made = make_vault(tmp_path_factory.mktemp("embedded") / "vault")
    for name, text in NOTES.items():
        (made.root / name).write_text(text[: len(text) // 4], encoding="utf-8")
    with made.config.open("a", encoding="utf-8") as file:
        file.write(f'cache_dir = "cache"\n[models.embedding]\nmodel = "{PRIMARY}"\n')
    assert kb_in(made)("ingest").code == 0
    with closing(apsw.Connection(str(made.sqlite))) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return made


def execute(vault: Vault, statement: str, *values: object) -> list[Any]:
    with closing(apsw.Connection(str(vault.sqlite))) as db:
        load_vector_functions(db)
        found = db.execute(statement, values).fetchall()
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return found


def any_of(vault: Vault, dice: random.Random, statement: str) -> Any:
    """The first column of a random row."""
    return dice.choice(execute(vault, statement))[0]


def drop_object(vault: Vault, dice: random.Random) -> None:
    made = dice.choice([each for each in made_objects().values() if each.type in ("index", "view", "trigger")])
    execute(vault, f"DROP {made.type} {made.name}")


def table_for_view(vault: Vault, dice: random.Random) -> None:
    name = dice.choice([each.name for each in made_objects().values() if each.type == "view"])
    execute(vault, f"DROP VIEW {name}; CREATE TABLE {name} (x)")


def other_trigger(vault: Vault, dice: random.Random) -> None:
    made = dice.choice([each for each in made_objects().values() if each.type == "trigger"])
    when = str(made.definition).partition(" BEGIN")[0].partition(" WHEN ")[0]
    execute(vault, f"DROP TRIGGER {made.name}; {when} BEGIN SELECT 1; END")


def wrong_schema_version(vault: Vault, dice: random.Random) -> None:
    value = dice.choice(["1", "7", "x", "", "-3", "2.5"])
    execute(vault, "UPDATE schema_meta SET value = ? WHERE key = 'schema_version'", value)


def lost_index_row(vault: Vault, dice: random.Random) -> None:
    execute(vault, "DELETE FROM chunks_fts WHERE rowid = ?", any_of(vault, dice, "SELECT chunk_rowid FROM chunks"))


def other_index_row(vault: Vault, dice: random.Random) -> None:
    column = dice.choice(["text", "heading_path", "name"])
    rowid = any_of(vault, dice, "SELECT chunk_rowid FROM chunks")
    execute(vault, f"UPDATE chunks_fts SET {column} = 'another' WHERE rowid = ?", rowid)


def wrong_count(vault: Vault, dice: random.Random) -> None:
    execute(
        vault,
        dice.choice(
            [
                "UPDATE kv SET value = value + 1 WHERE key = 'chunk_total'",
                "DELETE FROM kv WHERE key = 'chunk_total'",
                "DELETE FROM kv WHERE key = 'corpus_revision'",
                "UPDATE kv SET value = value - 1 WHERE key = 'korean_unit_total'",
                "UPDATE words SET documents = documents + 1 WHERE letters = (SELECT min(letters) FROM words)",
                "UPDATE korean_units SET occurrences = occurrences + 1",
                "DELETE FROM korean_units WHERE surface = (SELECT max(surface) FROM korean_units)",
                "UPDATE pipelines SET documents = documents + 1",
                "DELETE FROM pipelines",
            ]
        ),
    )


def lost_rows(vault: Vault, dice: random.Random) -> None:
    table = dice.choice(["documents", "assets", "blocks"])
    rowid = any_of(vault, dice, f"SELECT rowid FROM {table}")
    execute(vault, f"PRAGMA foreign_keys = OFF; DELETE FROM {table} WHERE rowid = {rowid}")


def lost_mirror_rows(vault: Vault, dice: random.Random) -> None:
    rowid = any_of(vault, dice, "SELECT rowid FROM vec_primary_rowids")
    least = dice.choice([rowid, 0])
    execute(vault, "DELETE FROM vec_primary WHERE chunk_rowid BETWEEN ? AND ?", least, rowid)


def other_mirror_rows(vault: Vault, dice: random.Random) -> None:
    one, other = dice.sample(execute(vault, "SELECT chunk_rowid, embedding FROM vec_primary"), 2)
    vector = dice.choice([bytes(len(one[1])), other[1], dice.randbytes(4) + one[1][4:]])
    execute(vault, "UPDATE vec_primary SET embedding = ? WHERE chunk_rowid = ?", vector, one[0])


def lost_mirror(vault: Vault, dice: random.Random) -> None:
    execute(vault, "DROP TABLE vec_primary")


def lost_record(vault: Vault, dice: random.Random) -> None:
    chunk = any_of(vault, dice, "SELECT chunk_id FROM embedding_records")
    change = dice.choice(["DELETE FROM embedding_records", "UPDATE embedding_records SET status = 'pending'"])
    execute(vault, f"{change} WHERE chunk_id = ?", chunk)


def lost_tokens(vault: Vault, dice: random.Random) -> None:
    rowid = any_of(vault, dice, "SELECT chunk_rowid FROM chunk_tokens")
    which = dice.choice(["chunk_rowid = ?", "chunk_rowid >= ?"])
    execute(vault, f"DELETE FROM chunk_tokens WHERE {which}", rowid)


def other_tokens(vault: Vault, dice: random.Random) -> None:
    """Of another size, or of a passage that is gone."""
    rowid = any_of(vault, dice, "SELECT chunk_rowid FROM chunk_tokens")
    change = dice.choice(["tokens = x''", "tokens = zeroblob(7)", "components = 2", "chunk_rowid = -chunk_rowid"])
    changed = f"UPDATE chunk_tokens SET {change} WHERE chunk_rowid = {rowid}"
    execute(vault, f"PRAGMA ignore_check_constraints = ON; {changed}")


def a_file(folder: Path, dice: random.Random, pattern: str = "*") -> Path:
    return dice.choice(sorted(path for path in folder.rglob(pattern) if path.is_file()))


def change_file(path: Path, dice: random.Random) -> None:
    """A file gone, cut, emptied, or with other bytes."""
    content = bytearray(path.read_bytes())
    kind = dice.choice(["gone", "cut", "empty", "noise", "zeros"])
    if kind == "gone":
        path.unlink()
        return
    if kind == "cut":
        del content[len(content) // 2 :]
    elif kind == "empty":
        content.clear()
    else:
        content[:] = bytes(len(content)) if kind == "zeros" else dice.randbytes(len(content))
    path.write_bytes(content)


def damaged_copy(vault: Vault, dice: random.Random) -> None:
    change_file(a_file(vault.sqlite.parent / "assets", dice), dice)


def flipped_copy(vault: Vault, dice: random.Random) -> None:
    path = a_file(vault.sqlite.parent / "assets", dice)
    content = bytearray(path.read_bytes())
    content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
    path.write_bytes(content)


def damaged_lance(vault: Vault, dice: random.Random) -> None:
    """The vectors of a table: its data, or the manifests that name them."""
    table = dice.choice(sorted((vault.sqlite.parent / "lancedb").glob("*.lance")))
    for path in table.rglob(dice.choice(["*.lance", "*.manifest"])):
        change_file(path, dice)


def lost_lance(vault: Vault, dice: random.Random) -> None:
    table = dice.choice(sorted((vault.sqlite.parent / "lancedb").glob("*.lance")))
    shutil.rmtree(table)
    if dice.random() < 0.5:
        table.mkdir()


def cut_file(vault: Vault, dice: random.Random) -> None:
    size = vault.sqlite.stat().st_size
    os.truncate(vault.sqlite, size - dice.choice([1, 100, PAGE_BYTES, 3 * PAGE_BYTES, dice.randrange(size)]))


def damaged_page(vault: Vault, dice: random.Random) -> None:
    """A page with other bytes, of those that SQLite itself can tell are wrong."""
    sound = vault.sqlite.read_bytes()
    while is_sound(vault.sqlite):
        data = bytearray(sound)
        dice.choice([overwrite, flip, zero])(data, dice.randrange(len(sound) // PAGE_BYTES) * PAGE_BYTES, dice)
        vault.sqlite.write_bytes(data)


MENDED_BY: dict[Callable[[Vault, random.Random], None], str | None] = {
    drop_object: "ingest",
    table_for_view: "ingest",
    other_trigger: "ingest",
    wrong_schema_version: None,
    lost_index_row: "index --rebuild-fts",
    other_index_row: "index --rebuild-fts",
    wrong_count: "index --rebuild-fts",
    lost_rows: None,
    lost_mirror_rows: "ingest",
    other_mirror_rows: "index --embeddings",
    lost_mirror: "ingest",
    lost_record: "ingest",
    lost_tokens: "ingest",
    other_tokens: "ingest",
    damaged_copy: None,
    flipped_copy: None,
    damaged_lance: "index --rebuild-lance",
    lost_lance: "ingest",
    cut_file: None,
    damaged_page: None,
}


@pytest.fixture
def copied(embedded: Vault, tmp_path: Path) -> Vault:
    """A copy of them for one test."""
    vault = copy_vault(embedded.config.parent, tmp_path / "vault")
    old, new = str(embedded.config.parent), str(vault.config.parent)
    execute(vault, "UPDATE assets SET storage_path = replace(storage_path, ?, ?)", old, new)
    execute(vault, "UPDATE assets SET source_uri = replace(source_uri, ?, ?)", old, new)
    execute(vault, "PRAGMA journal_mode = DELETE")  # all of it in the one file
    return vault


@pytest.mark.slow
def test_doctor_finds_no_fault_before_any_damage(copied: Vault) -> None:
    assert failed(doctor(copied)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(DAMAGES))
def test_doctor_names_any_damage_and_the_command_that_mends_it(seed: int, copied: Vault) -> None:
    vault, dice = copied, random.Random(seed)
    damage = list(MENDED_BY)[seed % len(MENDED_BY)]
    damage(vault, dice)
    found = failed(doctor(vault))
    assert found, damage
    assert all(found.values()), "each with what to do"
    searched = kb_in(vault)("search", "배터리 barrel", "--json")
    assert "Traceback" not in searched.stderr
    command = MENDED_BY[damage]
    if command is not None:
        assert kb_in(vault)(*command.split()).code == 0
        assert failed(doctor(vault)) == {}, damage


def failed(ran: Ran) -> dict[str, str | None]:
    """The failed checks, each with its hint."""
    assert (ran.code in (0, 3), ran.stderr) == (True, "")
    return {check["name"]: check["hint"] for check in ran.json["checks"] if check["state"] == "failed"}
