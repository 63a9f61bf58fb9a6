"""Versions name what they say: the index by what its rows were built with, a ranking by what put its hits in order."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from conftest import Kb, Vault, tool

from kb.operations.ingest import read
from kb.store import migrate as migrating
from kb.store import sqlfile
from kb.store.connection import open_writer, schema_state
from kb.store.migrate import migrate, note_fts_version, repeatable_files, repeatable_hash, repeatable_names
from kb.store.sqlfile import SQL_DIR, header_of, statement_label

NOW = "2026-01-01T00:00:00Z"
INDEX_ROWS = "SELECT rowid, heading_path, text, tokenized_korean_text, name FROM chunks_fts ORDER BY rowid"

GOLDEN = """
suite: notes
questions:
- {id: retry, query: gateway retries, expected: [projects/gateway/log.md]}
"""

Edit = Callable[[str, str, str], None]


@pytest.fixture
def edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Edit:
    """Gives this kb other views and triggers: `edit("triggers/chunks_fts.sql", "old text", "new text")`."""
    copy = tmp_path / "sql"
    for folder in ("views", "triggers"):
        shutil.copytree(SQL_DIR / folder, copy / folder)
    files = tuple(copy / path.relative_to(SQL_DIR) for path in repeatable_files())
    monkeypatch.setattr(migrating, "repeatable_files", lambda: files)

    def replace(name: str, old: str, new: str) -> None:
        path = copy / name
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")
        for cached in (repeatable_hash, repeatable_names):
            cached.cache_clear()

    return replace


@pytest.fixture(autouse=True)
def forget_edits() -> None:
    """What a test made of the views is not what the next one finds."""
    repeatable_hash.cache_clear()
    repeatable_names.cache_clear()


@pytest.fixture
def indexed(fresh_vault: Vault, kb: Kb) -> Vault:
    """A knowledge base of its own with the notes in it."""
    assert kb("--config", str(fresh_vault.config), "ingest").code == 0
    return fresh_vault


def label(kb: Kb, vault: Vault) -> str:
    found: str = kb("--config", str(vault.config), "search", "gateway", "--json").json["index_version"]
    return found


def doctor(kb: Kb, vault: Vault) -> dict[str, str]:
    checks = kb("--config", str(vault.config), "doctor", "--json").json["checks"]
    found: dict[str, str] = next(check for check in checks if check["name"] == "index_version")
    return found


def test_a_comment_in_a_view_or_trigger_changes_nothing(edit: Edit, indexed: Vault, kb: Kb) -> None:
    before = label(kb, indexed)
    edit("views/corpus_stats.sql", "-- One row:", "-- One row a knowledge base:")
    edit("triggers/chunks_fts.sql", "-- Keep chunks_fts equal", "-- Keep the table chunks_fts equal")
    db = open_writer(indexed.sqlite)
    assert not migrate(db, NOW)
    db.close()
    assert label(kb, indexed) == before
    assert doctor(kb, indexed)["state"] == "ok"


def test_another_view_does_not_rename_the_index(edit: Edit, indexed: Vault, kb: Kb) -> None:
    before = label(kb, indexed)
    edit("views/corpus_stats.sql", "(SELECT count(*) FROM blocks)", "(SELECT count(block_id) FROM blocks)")
    db = open_writer(indexed.sqlite)
    assert migrate(db, NOW)
    db.close()
    assert label(kb, indexed) == before


def test_another_indexing_trigger_builds_the_index_again_and_renames_it(edit: Edit, indexed: Vault, kb: Kb) -> None:
    before = label(kb, indexed)
    db = open_writer(indexed.sqlite)
    db.execute("UPDATE chunks_fts SET heading_path = 'zebra'")  # as if an older definition had put it there
    edit("views/indexed_chunks.sql", "coalesce(nfc_text, text)", "ifnull(nfc_text, text)")
    assert migrate(db, NOW)
    assert db.execute("SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH 'heading_path : zebra'").get == 0
    db.close()
    after = label(kb, indexed)
    assert after.partition("/")[0] != before.partition("/")[0]
    assert after.partition("/")[2] == before.partition("/")[2]
    assert doctor(kb, indexed)["state"] == "ok"


# As they were before one view said what is indexed: history, so the statements are their own.
_TRIGGERS_BEFORE_THE_VIEW = """
DROP TRIGGER index_chunk; DROP TRIGGER chunks_ai; DROP TRIGGER chunks_au; DROP VIEW indexed_chunks;
DROP TRIGGER index_code; DROP TRIGGER code_ai; DROP TRIGGER code_au; DROP VIEW indexed_code;
CREATE TRIGGER chunks_ai AFTER INSERT ON chunks BEGIN
  INSERT INTO chunks_fts (rowid, chunk_id, doc_id, heading_path, text, tokenized_korean_text, name)
  VALUES (
    new.chunk_rowid, new.chunk_id, new.doc_id, new.heading_text, coalesce(new.nfc_text, new.text),
    new.tokenized_korean_text, new.name_text
  );
  UPDATE kv SET value = value + 1 WHERE key = 'chunk_total';
END;
CREATE TRIGGER chunks_au AFTER UPDATE ON chunks BEGIN
  DELETE FROM chunks_fts WHERE rowid = old.chunk_rowid;
  INSERT INTO chunks_fts (rowid, chunk_id, doc_id, heading_path, text, tokenized_korean_text, name)
  VALUES (
    new.chunk_rowid, new.chunk_id, new.doc_id, new.heading_text, coalesce(new.nfc_text, new.text),
    new.tokenized_korean_text, new.name_text
  );
END;
"""


def test_triggers_written_otherwise_that_index_the_same_build_nothing_again(indexed: Vault, kb: Kb) -> None:
    after = label(kb, indexed)
    db = open_writer(indexed.sqlite)
    by_the_view = db.execute(INDEX_ROWS).fetchall()
    db.execute(_TRIGGERS_BEFORE_THE_VIEW)
    note_fts_version(db)
    db.execute("UPDATE schema_meta SET value = 'old' WHERE key = 'repeatable_hash'")
    db.execute("DELETE FROM chunks_fts; UPDATE chunks SET lang = lang")
    assert db.execute(INDEX_ROWS).fetchall() == by_the_view, "the triggers of then build the rows of now"
    db.execute("UPDATE chunks_fts SET heading_path = 'zebra'")
    assert schema_state(db).fts_version == "fts-2a38f465"
    assert migrate(db, NOW)
    assert db.execute("SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH 'heading_path : zebra'").get > 0
    db.close()
    assert label(kb, indexed) == after
    assert doctor(kb, indexed)["state"] == "ok"


@pytest.mark.slow
def test_the_label_names_every_analyser_that_made_the_rows(
    indexed: Vault, kb: Kb, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One note of many is read again by another rule: the index is made by both, until the next ingest of all."""
    before = label(kb, indexed)
    monkeypatch.setattr(read, "WORDS_VERSION", "words-next")
    assert label(kb, indexed) == before, "a kb that would make it otherwise has made nothing yet"
    found = doctor(kb, indexed)
    assert found["state"] == "failed"
    assert "as another kb read them" in found["detail"]
    assert found["hint"] == "kb ingest"
    assert kb("--config", str(indexed.config), "ingest", "chunking.md").code == 0
    analyser = before.split("/")[1]
    assert label(kb, indexed) == f"{before}+{analyser}/words-next"
    assert kb("--config", str(indexed.config), "ingest").code == 0
    assert label(kb, indexed) == f"{before.rpartition('/')[0]}/words-next"
    assert doctor(kb, indexed)["state"] == "ok"


def test_the_triggers_and_a_rebuild_build_the_same_rows(indexed: Vault, kb: Kb) -> None:
    db = apsw.Connection(str(indexed.sqlite))
    by_triggers = db.execute(INDEX_ROWS).fetchall()
    assert len(by_triggers) > 3
    assert kb("--config", str(indexed.config), "index", "--rebuild-fts").code == 0
    assert db.execute(INDEX_ROWS).fetchall() == by_triggers


def test_rows_built_by_another_definition_are_told_and_rebuilt(indexed: Vault, kb: Kb) -> None:
    db = open_writer(indexed.sqlite)
    db.execute("UPDATE schema_meta SET value = 'fts-00000000' WHERE key = 'fts_version'")
    db.close()
    assert label(kb, indexed).startswith("fts-00000000/")
    assert doctor(kb, indexed)["hint"] == "kb index --rebuild-fts"
    assert kb("--config", str(indexed.config), "index", "--rebuild-fts").code == 0
    assert doctor(kb, indexed)["state"] == "ok"
    assert schema_state(open_writer(indexed.sqlite)).fts_version != "fts-00000000"


def ranking(kb: Kb, vault: Vault, *options: str) -> str:
    found: str = kb("--config", str(vault.config), *options, "search", "gateway", "--json").json["ranking_version"]
    return found


def test_a_ranking_names_its_statement_and_the_weights_of_the_columns(indexed: Vault, kb: Kb) -> None:
    statement = statement_label("retrieve/search_lexical.sql")
    assert ranking(kb, indexed).startswith(f"{statement}/bm25(0,0,1,1,1,3)/terms-")
    db = open_writer(indexed.sqlite)
    db.execute("INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('rank', 'bm25(0.0, 0.0, 1.0, 1.0, 1.0, 2.5)')")
    db.close()
    assert ranking(kb, indexed).startswith(f"{statement}/bm25(0,0,1,1,1,2.5)/terms-")


@pytest.fixture(scope="module")
def copied_code(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A copy of the code that ranks, to be changed and changed back, and the lines that its label is made of."""
    top = tmp_path_factory.mktemp("code")
    for room in ("language", "retrieve", "store", "domain"):
        shutil.copytree(SQL_DIR.parent / "kb" / room, top / "kb" / room, ignore=shutil.ignore_patterns("__pycache__"))
    return top, tool("generate").ranking_code_text(top).splitlines()


@pytest.mark.parametrize(
    ("file", "old", "new", "changed"),
    [
        ("kb/store/tokens.py", '"porter", ["unicode61"', '"trigram", ["unicode61"', {"terms", "code"}),
        ("kb/language/korean.py", "def cut_word(", "def cut_word(_: int, ", {"terms", "code"}),
        ("kb/retrieve/filters.py", "from __future__", "import math\nfrom __future__", {"terms", "code"}),
        ("kb/language/data/stopwords.tsv", "english\t", "english\tgateway ", {"terms", "code"}),
        ("kb/language/words.py", "# A shorter word", "# Each shorter word", set()),
        ("kb/language/words.py", '"""A Latin word in lower', '"""A word in lower', set()),
        ("kb/language/data/code_words.tsv", "frame\t", "frame\tx?", {"code"}),
        ("kb/retrieve/snippet.py", '_ELLIPSIS = "…"', '_ELLIPSIS = "..."', {"code"}),
    ],
)
def test_another_stemmer_analyser_or_list_gives_another_label(
    file: str, old: str, new: str, changed: set[str], copied_code: tuple[Path, list[str]]
) -> None:
    """The hashes that the label has are made of the code itself; what ranks nothing, and comments, change none."""
    top, before = copied_code
    text = (top / file).read_text(encoding="utf-8")
    assert old in text
    (top / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    after = tool("generate").ranking_code_text(top).splitlines()
    (top / file).write_text(text, encoding="utf-8")
    assert {line.partition("\t")[0] for line in after if line not in before} == changed


def test_the_label_has_the_hash_of_the_code_that_is_here(indexed: Vault, kb: Kb) -> None:
    written = dict(line.split("\t") for line in tool("generate").ranking_code_text(SQL_DIR.parent).splitlines()[3:])
    assert ranking(kb, indexed).rpartition("/")[2] == f"terms-{written['terms']}"


def test_a_statement_with_a_new_version_gives_another_ranking(
    indexed: Vault, kb: Kb, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlfile, "header_of", lambda name: header_of(name)._replace(version=99))
    assert ranking(kb, indexed).startswith("search_lexical-99/")


def test_an_answer_and_an_evaluation_keep_what_ranked(indexed: Vault, kb: Kb, tmp_path: Path) -> None:
    config = ("--config", str(indexed.config))
    expected = ranking(kb, indexed)
    answer = kb(*config, "ask", "how often does the gateway retry?", "--json").json
    assert answer["ranking_version"] == expected
    assert answer["index_version"] == label(kb, indexed)
    kept = kb(*config, "answers", "show", answer["retrieval"]["trace_id"], "--json").json
    assert (kept["ranking_version"], kept["index_version"]) == (expected, answer["index_version"])
    suite = tmp_path / "golden.yaml"
    suite.write_text(GOLDEN, encoding="utf-8")
    ran = kb(*config, "eval", "run", "--suite", str(suite), "--mode", "lexical", "--json")
    assert ran.json["ranking_version"] == expected
    assert ran.json["index_version"] == answer["index_version"]
