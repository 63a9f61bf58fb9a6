"""`kb reset`: says first what it would remove, removes that and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Vault, make_vault
from fake_embedder import FakeModels, fake_models
from vaults import EMBEDDING, call

from kb.errors import StoreBusy
from kb.store.connection import writer_lock

__all__ = ["fake_models"]

QUESTION = "What restarts the gateway?"


@pytest.fixture
def indexed(tmp_path: Path, fake_models: FakeModels) -> Vault:
    """Notes with vectors under two models, an answer of a conversation, and a run of a golden set."""
    vault = make_vault(tmp_path / "vault", settings=f'model_dir = "models"\n{EMBEDDING}')
    (vault.sqlite.parent / "golden.yaml").parent.mkdir(exist_ok=True)
    (vault.sqlite.parent / "golden.yaml").write_text(
        "suite: x\nquestions:\n- id: a\n  query: gateway\n  expected: [projects/notes.md]\n", encoding="utf-8"
    )
    assert call(vault, "ingest").code == 0
    assert call(vault, "ask", QUESTION, "--session", "x").code in (0, 1)
    assert call(vault, "eval", "run").code == 0
    return vault


def removable(vault: Vault, part: str) -> dict[str, int]:
    report = call(vault, "reset", part, "--json").json
    assert report["done"] is False
    return {each["name"]: each["entries"] for each in report["parts"]}


def faults(vault: Vault) -> list[str]:
    return [check["name"] for check in call(vault, "doctor", "--json").json["checks"] if check["ok"] is False]


def files(vault: Vault) -> set[str]:
    top = vault.config.parent
    return {path.relative_to(top).as_posix() for path in top.rglob("*") if path.is_file()}


@pytest.mark.parametrize("part", ["vectors", "index", "answers", "everything"])
def test_without_yes_nothing_is_removed(part: str, indexed: Vault) -> None:
    before = {path: path.read_bytes() for path in indexed.sqlite.parent.rglob("*.lance") if path.is_file()}
    documents = call(indexed, "list", "docs", "--json").stdout
    ran = call(indexed, "reset", part)
    assert (ran.code, ran.stderr) == (0, "")
    assert "would be removed:" in ran.stdout
    assert f"kb reset {part} --yes" in ran.stdout
    assert call(indexed, "list", "docs", "--json").stdout == documents
    assert {path: path.read_bytes() for path in before} == before
    assert removable(indexed, "answers") == {"answers": 1, "conversations": 1}


def test_without_vectors_words_find_and_they_are_made_again(indexed: Vault) -> None:
    there = removable(indexed, "vectors")
    assert there["vectors"] > 0
    assert call(indexed, "reset", "vectors", "--yes").code == 0
    assert removable(indexed, "vectors") == {"vectors": 0}
    searched = call(indexed, "search", "gateway", "--mode", "hybrid", "--json").json
    assert searched["hits"]
    assert "vector" in searched["note"]
    assert faults(indexed) == ["embeddings"]
    assert call(indexed, "ingest").code == 0
    assert removable(indexed, "vectors") == there


def test_an_index_goes_with_its_copies_and_comes_again(indexed: Vault) -> None:
    uris = [hit["citation"]["uri"] for hit in call(indexed, "search", "gateway", "--json").json["hits"]]
    assert removable(indexed, "index")["documents"] > 0
    ran = call(indexed, "reset", "index", "--yes")
    assert (ran.code, ran.stderr) == (0, "")
    assert set(removable(indexed, "index").values()) == {0}
    assert removable(indexed, "answers") == {"answers": 1, "conversations": 1}
    assert call(indexed, "search", "gateway").code == 1
    assert call(indexed, "doctor").code == 0
    assert call(indexed, "ingest").code == 0
    assert [hit["citation"]["uri"] for hit in call(indexed, "search", "gateway", "--json").json["hits"]] == uris


def test_answers_go_with_their_conversations_and_nothing_else(indexed: Vault) -> None:
    documents = call(indexed, "list", "docs", "--json").stdout
    assert call(indexed, "reset", "answers", "--yes").code == 0
    assert removable(indexed, "answers") == {"answers": 0, "conversations": 0}
    assert call(indexed, "answers", "--json").stdout.strip() == ""
    assert call(indexed, "list", "docs", "--json").stdout == documents


def test_everything_leaves_what_is_the_users(indexed: Vault) -> None:
    for name in ("mcp-token", "audit.sqlite"):
        (indexed.sqlite.parent / name).write_bytes(b"")
    assert call(indexed, "reset", "everything", "--yes").code == 0
    left = files(indexed)
    assert {"kb.toml", "data/golden.yaml", "notes/projects/gateway/log.md"} <= left
    made = {name for name in left if not name.startswith("notes/")} - {"kb.toml", "data/golden.yaml"}
    assert made <= {"data/kb.sqlite.lock"}
    assert "not_indexed" in call(indexed, "search", "gateway", "--json").stderr
    assert call(indexed, "reset", "everything").code == 0
    assert call(indexed, "ingest").code == 0
    assert call(indexed, "search", "gateway").code == 0


def test_a_damaged_file_goes_with_everything(indexed: Vault) -> None:
    indexed.sqlite.write_bytes(b"no database " * 500)
    assert call(indexed, "reset", "index", "--yes").code == 2
    planned = call(indexed, "reset", "everything")
    assert planned.code == 0
    assert "kb.sqlite" in planned.stdout
    assert call(indexed, "reset", "everything", "--yes").code == 0
    assert not indexed.sqlite.exists()


@pytest.mark.parametrize("part", ["vectors", "index", "everything"])
def test_beside_an_ingest_it_waits_its_turn(part: str, indexed: Vault) -> None:
    before = removable(indexed, "index")
    with writer_lock(indexed.sqlite):
        ran = call(indexed, "reset", part, "--yes")
    assert ran.code == 2
    assert "another kb is writing" in ran.stderr
    assert removable(indexed, "index") == before
    assert StoreBusy.code == "store_busy"


@pytest.mark.parametrize("part", ["vectors", "index", "answers", "everything"])
def test_read_only_mode_refuses(part: str, indexed: Vault) -> None:
    before = removable(indexed, "index")
    ran = call(indexed, "--read-only", "reset", part, "--yes")
    assert ran.code == 2
    assert "read-only mode" in ran.stderr
    assert removable(indexed, "index") == before


def test_before_the_first_ingest_there_is_nothing(tmp_path: Path) -> None:
    vault = make_vault(tmp_path)
    assert call(vault, "reset", "index").code == 2
    ran = call(vault, "reset", "everything", "--yes")
    assert ran.code == 0
    assert "nothing: there is none" in ran.stdout
