"""Every file of sql/ says what it takes and gives; the statement, the header and the Python stub agree."""

from __future__ import annotations

import importlib
import pkgutil
import re
import shutil
import subprocess
import typing
from collections.abc import Iterator
from pathlib import Path
from types import NoneType
from typing import Any

import apsw
import apsw.ext
import pytest
from conftest import cpu_limited, tool

import kb.store
from kb.retrieve.maxsim import add_maxsim
from kb.store.migrate import migrate, repeatable_files
from kb.store.schema_version import migrations
from kb.store.sqlfile import BINDINGS, SQL_DIR, Binding, sql_text, statement
from kb.store.vectors.vector_tables import load_vector_functions, remake_mirror

FILES = sorted(str(path.relative_to(SQL_DIR)) for path in SQL_DIR.rglob("*.sql"))
TYPES: dict[str, type] = {"TEXT": str, "INTEGER": int, "REAL": float, "BLOB": bytes}

CACHE_SCRIPTS = ("cache/open.sql", "cache/create_vectors.sql", "cache/create_derived.sql", "audit/open.sql")

# Scripts that no stub binds: run whole by the code that opens or migrates a file, or read by people.
UNBOUND_FOLDERS = ("views/", "triggers/")
EXPOSURE_SCRIPTS = (
    "exposure/open_hidden.sql",
    "exposure/hide.sql",
    "exposure/show.sql",
    "exposure/show_counts.sql",
    "exposure/open_hidden_paths.sql",
    "exposure/hide_answers.sql",
    "exposure/show_answers.sql",
)
UNBOUND_FILES = {"schema/open_writer.sql", *EXPOSURE_SCRIPTS, *CACHE_SCRIPTS}

for module in pkgutil.walk_packages(kb.store.__path__, "kb.store."):
    importlib.import_module(module.name)  # fills BINDINGS


def read_header(text: str) -> Any:
    """The header of a file, as tools/generate reads it."""
    return tool("generate").read_header(text)


def header_types(fields: list[Any]) -> dict[str, str]:
    return {field.name: field.type for field in fields}


def python_types(hints: dict[str, Any]) -> dict[str, str]:
    """Python annotations in the words of a header."""
    names = {python: sql for sql, python in TYPES.items()}

    def spelled(hint: Any) -> str:
        parts = [part for part in typing.get_args(hint) if part is not NoneType]
        return names[parts[0]] + "?" if parts else names[hint]

    return {name: spelled(hint) for name, hint in hints.items()}


def stub_params(binding: Binding) -> dict[str, str]:
    hints = typing.get_type_hints(binding.stub)
    if binding.many:
        return python_types(typing.get_type_hints(typing.get_args(hints["rows"])[0]))
    return python_types({name: hints[name] for name in binding.params})


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
def test_every_file_has_a_header(name: str) -> None:
    header = read_header((SQL_DIR / name).read_text(encoding="utf-8"))
    assert header.purpose.endswith(".")
    assert header.version >= 1


@pytest.mark.parametrize("name", FILES)
def test_every_file_is_bound_or_a_script(name: str) -> None:
    assert [name in BINDINGS, name.startswith(UNBOUND_FOLDERS), name in UNBOUND_FILES].count(True) == 1


def test_every_binding_has_its_file() -> None:
    assert set(BINDINGS) <= set(FILES)


@pytest.mark.parametrize("name", sorted(BINDINGS))
def test_statement_header_and_stub_agree(name: str, migrated: apsw.Connection, cache: apsw.Connection) -> None:
    text = (SQL_DIR / name).read_text(encoding="utf-8")
    header, binding = read_header(text), BINDINGS[name]
    taken: set[str] = set()
    info = None
    rest: str | None = text
    while rest:
        info = apsw.ext.query_info(cache if name.startswith(("cache/", "audit/")) else migrated, rest)
        assert None not in info.bindings_names, "parameters have names"
        taken |= {str(parameter) for parameter in info.bindings_names}
        rest = info.query_remaining
    assert info is not None
    params, columns = header_types(header.params), header_types(header.columns)
    assert set(params) == taken
    assert list(columns) == [column for column, _ in info.description]
    assert params == stub_params(binding)
    assert list(params) == list(binding.params)
    row = {} if binding.row is None else python_types(typing.get_type_hints(binding.row))
    assert columns == row
    assert list(columns) == list(binding.columns)


@pytest.mark.parametrize("name", sorted(name for name in BINDINGS if BINDINGS[name].tables))
def test_a_statement_serves_every_table_it_names(name: str, migrated: apsw.Connection, cache: apsw.Connection) -> None:
    header, tables = read_header((SQL_DIR / name).read_text(encoding="utf-8")), BINDINGS[name].tables
    assert header.tables == list(tables)
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


@pytest.mark.parametrize("name", sorted(BINDINGS))
def test_a_stub_is_read_as_its_annotations_evaluate(name: str) -> None:
    """The binder reads them as text, to spare a cold search the evaluation."""
    binding = BINDINGS[name]
    hints = typing.get_type_hints(binding.stub)
    result = hints.pop("return")
    hints.pop("table", None)
    assert list(hints) == ["db", *(["rows"] if binding.many else binding.params)]
    if binding.row is None:
        assert result is {"None": NoneType, "int": int}[binding.returns]
    else:
        row = binding.row
        forms = {f"list[{row.__name__}]": list[row], f"Iterator[{row.__name__}]": Iterator[row]}
        assert result == (forms | {f"{row.__name__} | None": row | None})[binding.returns]


@pytest.mark.parametrize("name", sorted(BINDINGS))
def test_rows_come_in_a_stated_order(name: str) -> None:
    """Many rows without ORDER BY would differ from one SQLite to the next."""
    hint = typing.get_type_hints(BINDINGS[name].stub)["return"]
    text = (SQL_DIR / name).read_text(encoding="utf-8")
    if typing.get_origin(hint) is not None and NoneType not in typing.get_args(hint) and "PRAGMA" not in text:
        assert "ORDER BY" in text


@pytest.mark.parametrize("name", FILES)
def test_no_statement_selects_star(name: str) -> None:
    assert not re.search(r"SELECT\s+(\w+\.)?\*", (SQL_DIR / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("written", [":trust_json IS NULL", ":tags_json IS NULL", "ln((", "2.2 *"])
def test_filters_and_the_lexical_ceiling_are_written_once(written: str) -> None:
    """What may be found, and what a lexical score is a share of: elsewhere they are taken as parameters."""
    assert len([name for name in FILES if written in (SQL_DIR / name).read_text(encoding="utf-8")]) == 1


def test_the_check_catches_a_drifted_header() -> None:
    with pytest.raises(ValueError, match="name TYPE"):
        read_header("-- Purpose.\n-- version 1\n-- param x STRING  what\n")
    header = read_header("-- Purpose.\n--\n-- More.\n-- version 2\n-- column x TEXT?  what\nSELECT 1;")
    assert header_types(header.columns) == {"x": "TEXT?"}
    assert header.version == 2


WRITES_AND_READS = """
INSERT INTO assets VALUES ('a1', '/n/a.md', 'a.md', 'markdown', 9, 'c', 'copied', '/c/a1', '2026-01-01T00:00:00Z');
INSERT INTO documents VALUES (
  'd1', 'a1', 'a.md', 'A', 'ko', 'markdown', 'primary', 'p1', 1, 1,
    '{}', '{}', '2026', '2026', '/n/a.md', 9, 1, 'v1', NULL, '["ko"]'
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
    '{}', '{}', '2026', '2026', '/n/y.md', 9, 1, 'v1', NULL, '["en"]'),
  ('d3', 'a2', 'z.md', 'Z', 'en', 'markdown', 'primary', 'p1', 1, 1,
    '{}', '{}', '2026', '2026', '/n/z.md', 9, 1, 'v1', NULL, '["en"]');
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
