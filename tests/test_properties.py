"""Properties of documents: what is kept of them, conditions on them, dates, and how an older file gets them."""

from __future__ import annotations

import json
import os
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from conftest import Kb, Vault, indexed_vault, kb_in

from kb.store.migrate import migrate

NOTES = {
    "plan.md": "---\nStatus: Done\nrating: 4\ndue: 2026-03-10\ntags: [회의, work/plan]\naliases: 큰 계획\n"
    "team:\n  lead: Kim\nopen: false\nsteps: [one, 2, one]\n---\n# Plan\n\nShip the plan. #later\n",
    "other.md": "---\nStatus: todo\nrating: 10\ndue: 2026-05-01 09:00\ndate: 2026-02-01\n---\n"
    "# Other\n\nA plan of others.\n",
    "2026-03-09 log.md": "# Log\n\nThe plan was made.\n",
    "bare.md": "---\nid: [1]\nuser_id: x1\nrating: high\n---\n# Bare\n\nNo plan.\n",
}
PLAN, OTHER, LOG, BARE = NOTES


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    made = indexed_vault(tmp_path_factory.mktemp("properties"), NOTES)
    os.utime(made.root / PLAN, ns=(0, 1_577_880_000_000_000_000))  # 2020-01-01
    os.utime(made.root / BARE, ns=(0, 1_622_548_800_000_000_000))  # 2021-06-01
    assert kb_in(made)("ingest", "--no-embed").code == 0  # touched, with the same bytes
    return made


@pytest.fixture(scope="module")
def kb(kept: Vault) -> Kb:
    return kb_in(kept)


def listed(kb: Kb, *words: str) -> set[str]:
    return {line["doc_path"] for line in kb("list", "docs", "--json", *words).lines}


def rows_of(vault: Vault, path: str) -> list[tuple[object, ...]]:
    with closing(apsw.Connection(str(vault.sqlite))) as db:
        return db.execute(
            "SELECT p.name, p.position, p.kind, p.value, p.number FROM document_properties AS p"
            " JOIN documents AS d USING (doc_id) WHERE d.workspace_path = ?"
            " AND p.name NOT IN ('ingested', 'modified', 'date') ORDER BY p.name, p.position",
            (path,),
        ).fetchall()


def test_values_are_typed_and_keep_their_order(kept: Vault) -> None:
    assert rows_of(kept, PLAN) == [
        ("Status", 0, "text", "Done", None),
        ("aliases", 0, "text", "큰 계획", None),
        ("due", 0, "date", "2026-03-10", None),
        ("open", 0, "bool", "false", None),
        ("rating", 0, "number", "4", 4.0),
        ("steps", 0, "text", "one", None),
        ("steps", 1, "number", "2", 2.0),
        ("steps", 2, "text", "one", None),
        ("tags", 0, "text", "회의", None),
        ("tags", 1, "text", "work/plan", None),
        ("tags", 2, "text", "later", None),
        ("team.lead", 0, "text", "Kim", None),
        ("title", 0, "text", "Plan", None),
    ]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("status=done", {PLAN}),
        ("STATUS = 'Done'", {PLAN}),
        ("status!=done", {OTHER, LOG, BARE}),
        ("rating>=4", {PLAN, OTHER}),
        ("rating>4", {OTHER}),
        ("rating<10", {PLAN}),
        ("rating<1e1", {PLAN}),
        ("rating=high", {BARE}),
        ("due<2026-03", set()),
        ("due<=2026-03", {PLAN}),
        ("due>2026-03-10", {OTHER}),
        ("due=2026-05", {OTHER}),
        ("tags~회", {PLAN}),
        ("tags=WORK/plan", {PLAN}),
        ("team.lead=kim", {PLAN}),
        ("open=false", {PLAN}),
        ("steps=2", {PLAN}),
        ("date>=2026-02-01", {OTHER, LOG}),
        ("modified<=2020", {PLAN}),
        ("modified=2021-06-01", {BARE}),
        ("id=x1", {BARE}),
        ("nothing=1", set()),
    ],
)
def test_a_condition_compares_numbers_days_and_texts_each_in_their_way(
    condition: str, expected: set[str], kb: Kb
) -> None:
    assert listed(kb, "--where", condition) == expected


@pytest.mark.parametrize(
    "condition", ["rating==4", "rating=>4", "rating<>4", "rating!!4", "rating", "=4", "rating~", ""]
)
def test_what_is_no_condition_is_refused(condition: str, kb: Kb) -> None:
    refused = kb("list", "docs", "--where", condition)
    assert refused.code == 2
    assert "is no condition" in refused.stderr


def test_conditions_must_all_hold(kb: Kb) -> None:
    assert listed(kb, "--where", "rating>=4", "--where", "status!=todo") == {PLAN}
    assert listed(kb, "--where", "status=done", "--where", "status=todo") == set()


def test_a_day_is_the_documents_own_before_that_of_its_file(kb: Kb) -> None:
    assert listed(kb, "--since", "2026-03-09") == {LOG}
    assert listed(kb, "--before", "2026-03-09") == {PLAN, OTHER, BARE}
    assert listed(kb, "--since", "2021-06-01", "--before", "2026-03") == {BARE, OTHER}


@pytest.mark.parametrize("words", [("--where", "status"), ("--where", "=done"), ("--since", "soon"), ("--before", "x")])
def test_a_malformed_filter_is_refused_with_an_example(words: tuple[str, str], kb: Kb) -> None:
    ran = kb("search", "plan", *words)
    assert ran.code == 2
    assert "for example" in ran.stderr


def test_properties_and_their_values_are_listed_with_counts(kb: Kb) -> None:
    names = {each["name"]: each["count"] for each in kb("list", "properties", "--json").json["items"]}
    assert (names["Status"], names["rating"], names["date"]) == (2, 3, 4)
    values = kb("list", "properties", "RATING", "--json").json["items"]
    assert [(each["name"], each["detail"], each["count"]) for each in values] == [
        ("high", "text", 1),
        ("4", "number", 1),
        ("10", "number", 1),
    ]
    assert kb("list", "properties", "rating", "--where", "status=done").stdout.split() == ["1", "4", "number"]
    tags = kb("list", "tags", "--json").json["items"]
    assert {each["name"] for each in tags} == {"회의", "work/plan", "later"}
    assert "no document has the property" in kb("list", "properties", "nope").stderr


def test_an_older_file_gets_its_properties_without_reading_a_note(kept: Vault, tmp_path: Path) -> None:
    path = tmp_path / "older.sqlite"
    with closing(apsw.Connection(str(kept.sqlite))) as db:
        rows = db.execute("SELECT * FROM document_properties ORDER BY doc_id, name, position").fetchall()
        with closing(apsw.Connection(str(path))) as older, older.backup("main", db, "main") as backup:
            backup.step()
    with closing(apsw.Connection(str(path))) as older:
        older.execute(
            """
            DROP TRIGGER document_properties_ai; DROP TRIGGER document_properties_au;
            DROP TRIGGER document_tag_properties_ai; DROP TRIGGER document_commit_properties_au;
                DROP VIEW property_values; DROP TABLE document_properties;
            DROP VIEW jobs; DROP TABLE job_records; DROP TABLE unread_files;
            DROP TABLE links; DROP TABLE document_names;
            DROP TABLE commit_logs;
            ALTER TABLE documents DROP COLUMN committed_at; ALTER TABLE documents DROP COLUMN committed_by;
            DROP INDEX idx_docs_source; ALTER TABLE documents DROP COLUMN source;
            DELETE FROM migrations WHERE id >= 21;
            UPDATE schema_meta SET value = '20' WHERE key = 'schema_version';
            UPDATE schema_meta SET value = 'old' WHERE key = 'repeatable_hash';
            """
        )
        names = json.loads(older.execute("SELECT value FROM schema_meta WHERE key = 'repeatable_names_json'").get)
        assert "property_values" in names
        migrate(older, "2026-12-01T00:00:00Z")
        assert older.execute("SELECT * FROM document_properties ORDER BY doc_id, name, position").fetchall() == rows


def test_sorted_by_date_the_newest_of_the_matches_come_first(kb: Kb) -> None:
    def found(*words: str) -> list[str]:
        return [hit["doc_path"] for hit in kb("search", "plan", "--json", *words).json["hits"]]

    assert found("--sort", "date") == [LOG, OTHER, BARE, PLAN]
    assert found("--sort", "date", "--k", "2") == [LOG, OTHER]
    assert found("--sort", "date", "--where", "status!=todo") == [LOG, BARE, PLAN]
    bulk = kb("search", "--bulk", stdin=json.dumps({"query": "plan", "k": 1, "sort": "date"}))
    assert [(hit["rank"], hit["doc_path"]) for hit in bulk.lines[0]["response"]["hits"]] == [(1, LOG)]
    assert set(found()) == {LOG, OTHER, BARE, PLAN}
