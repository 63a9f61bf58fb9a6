"""`kb search` a page at a time, within a budget, in other forms, and traced."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from conftest import Kb, Vault, kb_in, write_notes

from kb.wire.schemas import validate

QUESTION = "gateway chunk 토큰"


def test_pages_hold_all_hits_once(kb: Kb) -> None:
    seen: list[str] = []
    cursor = "start"
    while cursor:
        page = kb("search", QUESTION, "--k", "2", "--cursor", cursor, "--json").json
        validate("search_response.v1", page)
        seen += [hit["chunk_id"] for hit in page["hits"]]
        cursor = page["next_cursor"]
    whole = kb("search", QUESTION, "--k", "50", "--json").json
    assert sorted(seen) == sorted(hit["chunk_id"] for hit in whole["hits"])
    assert len(seen) > 3


def test_a_budget_bounds_the_hits_and_the_last_line_says_how_to_go_on(kb: Kb) -> None:
    whole = kb("search", QUESTION, "--json").json["hits"]
    ran = kb("search", QUESTION, "--max-tokens", "120", "--json").json
    assert 1 <= len(ran["hits"]) < len(whole)
    shown = kb("search", QUESTION, "--max-tokens", "120")
    assert shown.stderr.splitlines()[-1] == f"--cursor {ran['next_cursor']}"


def test_a_cursor_is_stale_after_an_ingest(fresh_vault: Vault) -> None:
    kb = kb_in(fresh_vault)
    assert kb("ingest", "--no-embed").code == 0
    cursor = kb("search", QUESTION, "--k", "1", "--cursor", "start", "--json").json["next_cursor"]
    write_notes(fresh_vault.root, {"new.md": "# New\n\nsomething new\n"})
    assert kb("ingest", "--no-embed").code == 0
    ran = kb("search", QUESTION, "--k", "1", "--cursor", cursor, "--json")
    assert (ran.code, json.loads(ran.stderr)["code"]) == (2, "stale_cursor")
    ran = kb("search", QUESTION, "--cursor", "nonsense", "--json")
    assert (ran.code, json.loads(ran.stderr)["code"]) == (2, "invalid_cursor")


def test_the_length_of_snippets(kb: Kb) -> None:
    hits = kb("search", "gateway", "--snippet-chars", "30", "--json").json["hits"]
    assert hits
    assert max(len(hit["snippet"]) for hit in hits) <= 30


def test_paths_are_each_file_once(kb: Kb, vault: Vault) -> None:
    hits = kb("search", QUESTION, "--json").json["hits"]
    paths = kb("search", QUESTION, "--format", "paths").stdout.splitlines()
    assert paths == list(dict.fromkeys(str(vault.root / hit["doc_path"]) for hit in hits))
    assert all(Path(path).is_file() for path in paths)


def test_csv_is_read_as_it_was_found(kb: Kb) -> None:
    hits = kb("search", QUESTION, "--json").json["hits"]
    rows = list(csv.DictReader(io.StringIO(kb("search", QUESTION, "--format", "csv").stdout)))
    assert [(row["rank"], row["citation"]) for row in rows] == [
        (str(hit["rank"]), hit["citation"]["uri"]) for hit in hits
    ]


def test_a_cell_is_no_formula(fresh_vault: Vault) -> None:
    write_notes(fresh_vault.root, {"sum.md": "# =SUM(A1:A9)\n\nwombat\n"})
    kb = kb_in(fresh_vault)
    assert kb("ingest", "--no-embed").code == 0
    (row,) = csv.DictReader(io.StringIO(kb("search", "wombat", "--format", "csv").stdout))
    assert row["title"] == "'=SUM(A1:A9)"


def test_markdown_links_what_was_found(kb: Kb) -> None:
    hit = kb("search", "gateway retries", "--k", "1", "--json").json["hits"][0]
    lines = kb("search", "gateway retries", "--k", "1", "--format", "md").stdout.splitlines()
    assert lines[0] == f"1. [{' › '.join(hit['heading_path'])}](<{hit['citation']['uri']}>)"
    assert lines[2].startswith("   > ")


@pytest.mark.parametrize("form", ["md", "paths", "csv", "json"])
def test_without_a_hit_every_form_is_empty(form: str, kb: Kb) -> None:
    ran = kb("search", "platypus", "--format", form)
    assert ran.code == 1
    assert len(ran.stdout.splitlines()) == {"md": 0, "paths": 0, "csv": 1, "json": 1}[form]


def test_a_trace_names_stages_and_statements(kb: Kb) -> None:
    ran = kb("search", "gateway retries", "--trace", "--json").json
    validate("search_response.v1", ran)
    stages = {stage["stage"]: stage for stage in ran["trace"]["stages"]}
    assert {"open", "terms", "candidates", "python"} <= set(stages)
    assert stages["terms"]["count"] == len(ran["terms"])
    assert "retrieve/search_lexical.sql" in [each["statement"] for each in stages["candidates"]["statements"]]
    total_ms = ran["trace"]["total_ms"]
    statements = [each for stage in stages.values() for each in stage.get("statements", ())]
    rounding_ms = sum(each["ms"] > 0 for each in statements)  # SQLite counts whole milliseconds
    assert total_ms - 0.1 <= sum(stage["ms"] for stage in stages.values()) <= total_ms + 0.1 + rounding_ms
    shown = kb("search", "gateway retries", "--trace")
    assert shown.stdout == kb("search", "gateway retries").stdout
    assert "retrieve/search_lexical.sql" in shown.stderr
