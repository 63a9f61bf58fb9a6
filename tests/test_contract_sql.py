"""Every file of sql/ says what it takes and gives, and the prepared statement agrees."""

from __future__ import annotations

import re
import shutil
import subprocess
import typing
from pathlib import Path
from types import NoneType
from typing import Any

import apsw
import apsw.ext
import pytest
from conftest import cpu_limited, tool

from kb.retrieve.search import add_maxsim
from kb.store import queries
from kb.store.connection import migrations
from kb.store.migrate import migrate, repeatable_files
from kb.store.mirror import load_vector_functions, remake_mirror
from kb.store.sqlfile import (
    SQL_DIR,
    TYPES,
    Field,
    header_of,
    read_header,
    row_class,
    sql_text,
    statement,
    statement_files,
)

FILES = sorted(str(path.relative_to(SQL_DIR)) for path in SQL_DIR.rglob("*.sql"))

CACHE_SCRIPTS = ("cache/open_cache.sql", "cache/create_vectors.sql", "cache/create_derived.sql", "audit/open_audit.sql")

# Scripts that are not prepared: a later statement needs what an earlier one makes, or a PRAGMA tells what it set.
SCRIPTS = (
    "schema/open_writer.sql",
    "exposure/hide.sql",
    "exposure/hide_answers.sql",
    "exposure/show.sql",
    "exposure/show_answers.sql",
    "exposure/show_counts.sql",
    *CACHE_SCRIPTS,
)
STATEMENTS = sorted(set(statement_files().values()) - set(SCRIPTS))


def named_types(fields: tuple[Field, ...]) -> dict[str, str]:
    return {field.name: field.type for field in fields}


def sql_type(hint: Any) -> str:
    """A type of Python in the words of a header."""
    sql = {python: sql for sql, python in TYPES.items()} | {"bool": "INTEGER"}
    parts = [part for part in typing.get_args(hint) if part is not NoneType]
    return sql[parts[0].__name__] + "?" if parts else sql[hint.__name__]


@pytest.fixture(scope="module")
def migrated() -> apsw.Connection:
    """A knowledge base with the vector tables that embedding makes."""
    db = apsw.Connection(":memory:")
    migrate(db, "2026-01-01T00:00:00Z")
    load_vector_functions(db)
    add_maxsim(db)
    remake_mirror(db, 8)
    db.execute(sql_text("exposure/open_hidden.sql"))
    db.execute(sql_text("ingest/open_arriving_chunks.sql"))
    db.execute(sql_text("exposure/open_hidden_paths.sql"))
    return db


@pytest.fixture(scope="module")
def cache() -> apsw.Connection:
    """The tables of the caches, which are files of their own."""
    db = apsw.Connection(":memory:")
    for script in CACHE_SCRIPTS:
        db.execute(sql_text(script)).fetchall()
    return db


@pytest.mark.parametrize("name", FILES)
def test_every_file_says_what_it_is_for(name: str) -> None:
    assert read_header(sql_text(name)).purpose.endswith(".")


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_takes_and_returns_what_its_header_says(
    name: str, migrated: apsw.Connection, cache: apsw.Connection
) -> None:
    header = header_of(name)
    taken: set[str] = set()
    info = None
    rest: str | None = sql_text(name)
    while rest:
        info = apsw.ext.query_info(cache if name.startswith(("cache/", "audit/")) else migrated, rest)
        assert None not in info.bindings_names, "parameters have names"
        taken |= {str(parameter) for parameter in info.bindings_names}
        rest = info.query_remaining
    assert info is not None
    assert set(named_types(header.params)) == taken
    assert [column.name for column in header.columns] == [column for column, _ in info.description]
    assert (header.shape in ("one", "many", "each")) == bool(header.columns)


def fields_of(row: Any) -> dict[str, Any]:
    """The types of a row's fields, and of those of the records in it, which come after its own."""
    hints = typing.get_type_hints(row)
    records = [fields_of(kind) for kind in hints.values() if hasattr(kind, "_fields")]
    return {name: kind for fields in (*records, hints) for name, kind in fields.items()}


@pytest.mark.parametrize("name", [name for name in STATEMENTS if "." in header_of(name).row])
def test_a_row_of_the_domain_has_the_columns_of_its_statement(name: str) -> None:
    header = header_of(name)
    row = row_class(header)
    fields, columns = fields_of(row), named_types(header.columns)
    for name, kind in columns.items():
        assert sql_type(fields[name]).removesuffix("?") == kind.removesuffix("?")
        assert kind.endswith("?") <= sql_type(fields[name]).endswith("?")
    records = {name for name, kind in typing.get_type_hints(row).items() if hasattr(kind, "_fields")}
    assert set(row._fields) - set(columns) - records <= set(row._field_defaults)


@pytest.mark.parametrize("name", [name for name in STATEMENTS if header_of(name).tables])
def test_a_statement_serves_every_table_it_names(name: str, migrated: apsw.Connection, cache: apsw.Connection) -> None:
    tables = header_of(name).tables
    asked = [
        apsw.ext.query_info(
            cache if name.startswith(("cache/", "audit/")) else migrated, statement(name, table), actions=True
        )
        for table in tables
    ]
    for table, info in zip(tables, asked, strict=True):
        assert info.actions
        named = {action.table_name for action in info.actions if action.table_name}
        assert any(each.startswith(table) for each in named)
        assert not [each for each in named for other in tables if other != table and each.startswith(other)]


RETURNING_MANY = [name for name in STATEMENTS if header_of(name).shape in ("many", "each")]


@pytest.mark.parametrize("name", [name for name in RETURNING_MANY if "PRAGMA" not in sql_text(name)])
def test_rows_come_in_a_stated_order(name: str) -> None:
    """Many rows without ORDER BY would differ from one SQLite to the next."""
    assert "ORDER BY" in sql_text(name)


def test_rows_of_one_name_are_of_one_class_whatever_was_used_first() -> None:
    assert queries.WrittenWord is row_class(header_of("retrieve/select_words_like.sql"))
    assert queries.WrittenWord is row_class(header_of("retrieve/select_written_words.sql"))
    with pytest.raises(AttributeError, match="select_nothing"):
        getattr(queries, "select_nothing")  # noqa: B009  # a type checker knows that it is not there


def test_two_headers_cannot_mean_different_rows_by_one_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generate = tool("generate")
    known = read_header("-- A.\n-- returns one Count\n-- column rows INTEGER  rows")
    other = read_header("-- B.\n-- returns many Count\n-- column rows INTEGER?  rows")
    monkeypatch.setattr(generate, "statement_files", lambda: {"a": "x/a.sql", "b": "x/b.sql"})
    monkeypatch.setattr(generate, "header_of", {"x/a.sql": known, "x/b.sql": known}.__getitem__)
    assert 'Count = NamedTuple("Count", [("rows", int)])\n' in generate.query_types()
    assert "def a(db: Connection) -> Count | None: ...\n" in generate.query_types()
    monkeypatch.setattr(generate, "header_of", {"x/a.sql": known, "x/b.sql": other}.__getitem__)
    with pytest.raises(ValueError, match=r"x/b\.sql"):
        generate.query_types()


@pytest.mark.parametrize("name", FILES)
def test_no_statement_selects_star(name: str) -> None:
    assert not re.search(r"SELECT\s+(\w+\.)?\*", (SQL_DIR / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("written", [":trust_min IS NULL", ":tags_json IS NULL", "ln((", "2.2 *"])
def test_filters_and_the_lexical_ceiling_are_written_once(written: str) -> None:
    """What may be found, and what a lexical score is a share of: elsewhere they are taken as parameters."""
    assert len([name for name in FILES if written in (SQL_DIR / name).read_text(encoding="utf-8")]) == 1


def test_a_header_that_is_none_is_refused() -> None:
    for wrong, told in [
        ("-- Purpose.\n-- param x STRING  what\n", "name TYPE"),
        ("-- Purpose.\n-- param x TEXT\n", "name TYPE"),
        ("-- Purpose.\n-- version 1\n-- More.\n", "More"),
        ("-- Purpose.\n-- returns all Row\n", "returns all"),
        ("-- Purpose.\n-- returns many\n", "returns many"),
    ]:
        with pytest.raises(ValueError, match=told):
            read_header(wrong)
    header = read_header(
        "-- Purpose.\n--\n-- More.\n-- version 2\n-- returns one Row\n-- column x TEXT?  what\nSELECT 1;"
    )
    assert named_types(header.columns) == {"x": "TEXT?"}
    assert (header.purpose, header.version, header.shape, header.row) == ("Purpose.  More.", 2, "one", "Row")


def test_files_that_functions_run_have_different_names() -> None:
    names = [Path(name).stem for name in FILES if not name.startswith(("views/", "triggers/"))]
    assert len(names) == len(set(names)) == len(statement_files())


WRITES_AND_READS = """
INSERT INTO assets VALUES ('a1', '/n/a.md', 'a.md', 'markdown', 9, 'c', 'copied', '/c/a1', '2026-01-01T00:00:00Z');
INSERT INTO documents VALUES (
  'd1', 'a1', 'a.md', 'A', 'ko', 'markdown', 'primary', 'p1', 1, 1,
    '{}', '{}', '2026', '2026', '/n/a.md', 9, 1, 'v1', NULL, '["ko"]', 'workspace', NULL, NULL
);
INSERT INTO document_tags VALUES ('d1', 'b'), ('d1', 'a');
INSERT INTO chunks (
  chunk_id, doc_id, ordinal, text, heading_path_json, section_label, source_spans_json, token_estimate,
  chunker_version, policy_hash, block_ids_json, created_at, lang, heading_text, tokenized_korean_text
) VALUES (
  'c1', 'd1', 0, '환기창은 열린다', '["A"]', 'A', '[{"kind":"line","start":3,"end":4}]', 5, 'k1', 'h', '[]', '2026',
  'ko', 'A', '환기창 열리'
);
INSERT INTO document_korean_units VALUES ('d1', '[["환기창","환기창",2],["은","",1]]');
SELECT 'found', chunk_id, doc_id FROM chunks_fts WHERE chunks_fts MATCH '열리';
SELECT 'unit', surface, occurrences FROM korean_units ORDER BY surface;
SELECT 'total', value FROM kv WHERE key = 'korean_unit_total';
SELECT 'overview', tags_json, chunk_count, media_type FROM document_overview;
SELECT 'source', citation FROM chunk_source;
SELECT 'stats', documents, chunks, documents_by_lang_json FROM corpus_stats;
UPDATE chunks SET text = '창문은 닫힌다', tokenized_korean_text = '창문 닫히';
SELECT 'stale', count(*) FROM chunks_fts WHERE chunks_fts MATCH '열리';
SELECT 'fresh', count(*) FROM chunks_fts WHERE chunks_fts MATCH '닫히';
INSERT INTO assets VALUES ('a2', '/n/y.md', 'y.md', 'markdown', 9, 'd', 'reference', '/n/y.md', '2026-01-01T00:00:00Z');
INSERT INTO documents VALUES
  ('d2', 'a2', 'y.md', 'Y', 'en', 'markdown', 'primary', 'p1', 1, 1,
    '{}', '{}', '2026', '2026', '/n/y.md', 9, 1, 'v1', NULL, '["en"]', 'workspace', NULL, NULL),
  ('d3', 'a2', 'z.md', 'Z', 'en', 'markdown', 'primary', 'p1', 1, 1,
    '{}', '{}', '2026', '2026', '/n/z.md', 9, 1, 'v1', NULL, '["en"]', 'workspace', NULL, NULL);
UPDATE documents SET source_path = '/moved/y.md' WHERE doc_id = 'd2';
SELECT 'moved', workspace_path, source_uri, storage_path FROM assets WHERE asset_id = 'a2';
DELETE FROM documents WHERE doc_id = 'd2';
SELECT 'copy', workspace_path, source_uri, storage_path FROM assets WHERE asset_id = 'a2';
INSERT INTO answers (
  trace_id, query, answer, grounded, model_id, model_provider, prompt_template_version, retrieval_mode, retrieval_k,
  score_gate, top_score, chunks_returned, chunks_used, citations_json, created_at, search_query, settings_json,
  claims_json, notes_json, index_version, corpus_revision
) VALUES (
  'ret_1', '언제?', '내일 [1].', 1, 'quote', 'extractive', 'rag-v3', 'lexical', 10, 0.5, 1, 1, 1, '[]', '2026', '언제?',
  '{}',
  '[{"text":"내일.","passages":[1],"status":"supported","quote":"내일","citation":{"kind":"line","path":"a.md"}}]',
  '[]', 'fts', 1
);
SELECT 'claim', trace_id, claim_no, status, claim, passages_json, cited_path FROM answer_claims;
DELETE FROM documents;
SELECT 'assets', count(*) FROM assets;
SELECT 'left', (SELECT count(*) FROM chunks), (SELECT count(*) FROM chunks_fts), (SELECT count(*) FROM korean_units);
SELECT 'total', value FROM kv WHERE key = 'korean_unit_total';
INSERT INTO chunks_fts (chunks_fts) VALUES ('integrity-check');
PRAGMA foreign_key_check;
"""


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="there is no sqlite3 program")
def test_the_schema_serves_the_plain_sqlite3_program(tmp_path: Path) -> None:
    """Migrations, views and triggers need no kb: any SQLite from 3.40 on creates, fills, queries and empties them."""
    made = [migration.path for migration in migrations()] + list(repeatable_files())
    script = ["PRAGMA foreign_keys = ON;", *(f".read '{path}'" for path in made), WRITES_AND_READS]
    done = subprocess.run(
        cpu_limited(["sqlite3", "-batch", "-bail", str(tmp_path / "plain.sqlite")]),
        input="\n".join(script),
        text=True,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "found|c1|d1",
        "unit|은|1",
        "unit|환기창|2",
        "total|3",
        'overview|["a","b"]|1|markdown',
        "source|a.md#L3-L4",
        'stats|1|1|{"ko":1}',
        "stale|0",
        "fresh|1",
        "moved|y.md|/moved/y.md|/moved/y.md",
        "copy|z.md|/n/z.md|/n/z.md",
        "claim|ret_1|1|supported|내일.|[1]|a.md",
        "assets|0",
        "left|0|0|0",
        "total|0",
    ]
