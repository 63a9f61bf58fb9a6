"""What every command prints: for people as snapshots, for programs as JSON that its schema accepts."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from conftest import Kb, Vault, kb_in, make_vault, run_kb, write_notes
from syrupy.assertion import SnapshotAssertion
from wire_schemas import require_valid

_ALL_KINDS = re.compile(r'(include = )\["\*\*/\*\.md", .*\]')


def stable(text: str, vault: Vault) -> str:
    """`text` without what differs from run to run: places, times, versions of libraries."""
    text = text.replace(str(vault.config.parent), "<vault>")
    text = re.sub(r"\bfts-[0-9a-f]{8}/\S+", "<index version>", text)
    text = re.sub(r"/(terms|reads)-[0-9a-f]{8}", r"/\1-<code>", text)
    text = re.sub(r"schema v\d+", "schema v<schema>", text)
    text = re.sub(r"(?m)^(wire +)\S.*$", r"\1<every wire schema>", text)
    text = re.sub(r"(?m)^((?:can|not here) +)\S.*$", r"\1<what there is here>", text)
    text = re.sub(r"kiwi-[\d.]+", "kiwi-<version>", text)
    text = re.sub(r"SQLite [\d.]+", "SQLite <version>", text)
    text = re.sub(r"(?m)^[✓–] (engine_\w+ +).*(\n +hint: .*)?", r"\1<engine, or what to install>", text)
    text = re.sub(r"(?m)^(parser\.\w+ +\S+\n)+", "<every parser>\n", text)
    text = _ALL_KINDS.sub(r"\1<all kinds>", text)
    text = re.sub(r"; \d optional parts? (is|are) not here \(–\)", "", text)
    text = re.sub(r"\d+\.\d s\)", "<time>)", text)
    return re.sub(r"(last ingest +)\d{4}-\d\d-\d\d \d\d:\d\d [+-]\d\d:\d\d", r"\1<time>", text)


def first_chunk(kb: Kb) -> str:
    found: str = kb("search", "겹침", "--json").json["hits"][0]["chunk_id"]
    return found


@pytest.mark.parametrize(
    "args",
    [
        ["--set", "search.both_scripts=false", "search", "청킹 규칙은?"],
        ["search", "gateway retries", "--explain", "--k", "2"],
        ["search", "귤"],
        ["search", "zebra"],
        ["search", "platypus 오리너구리"],
        ["search", "'chunk* NOT zebra'", "--lang", "en"],
        ["list", "docs"],
        ["list", "docs", "--tag", "회의", "--limit", "1"],
        ["inspect", "doc", "projects/gateway/log.md"],
        ["inspect", "doc", "./hostile.md"],
        ["--set", "models.llm.provider=extractive", "doctor"],
        ["schema"],
        ["schema", "--wire", "error.v1"],
        ["config", "show"],
        ["config", "path"],
        ["ingest", "--no-embed"],
        ["ingest", "--dry-run"],
        ["index", "--rebuild-fts"],
    ],
    ids=" ".join,
)
def test_for_people(args: list[str], kb: Kb, vault: Vault, snapshot: SnapshotAssertion) -> None:
    ran = kb(*args)
    assert stable(ran.stdout, vault) == snapshot
    assert ran.stderr == ""
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", ran.stdout)


def test_a_chunk_for_people(kb: Kb, vault: Vault, snapshot: SnapshotAssertion) -> None:
    chunk_id = first_chunk(kb)
    assert stable(kb("inspect", "chunk", chunk_id).stdout, vault) == snapshot
    assert kb("inspect", "chunk", chunk_id[:8]).stdout == kb("inspect", "chunk", chunk_id).stdout
    hostile = kb("search", "zebra", "--json").json["hits"][0]["chunk_id"]
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", kb("inspect", "chunk", hostile).stdout)


@pytest.mark.parametrize(
    ("args", "schema"),
    [
        (["search", "청킹 gateway", "--json"], "search_response.v1"),
        (["search", "platypus", "--json"], "search_response.v1"),
        (["inspect", "doc", "projects/gateway/log.md", "--json"], "doc_inspection.v1"),
        (["inspect", "doc", "hostile.md", "--json"], "doc_inspection.v1"),
        (["doctor", "--json"], "doctor.v1"),
        (["schema", "--json"], "schema.v1"),
        (["config", "show", "--json"], "config_report.v1"),
        (["config", "path", "--json"], "config_report.v1"),
        (["index", "--rebuild-fts", "--json"], "index_report.v1"),
        (["sql", "--query", "청킹", "--json"], "sql_query.v1"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_for_programs(args: list[str], schema: str, kb: Kb) -> None:
    ran = kb(*args)
    assert ran.stderr == ""
    assert ran.stdout.count("\n") == 1
    require_valid(ran.json, schema)


def test_every_line_of_a_list_is_a_value_of_its_own(kb: Kb) -> None:
    lines = kb("list", "docs", "--json").lines
    assert len(lines) == 6
    for line in lines:
        require_valid(line, "doc_summary.v1")


def test_the_parts_of_a_response_have_schemas_too(kb: Kb) -> None:
    for hit in kb("search", "청킹 gateway", "--json").json["hits"]:
        require_valid(hit, "search_hit.v1")
        require_valid(hit["citation"], "citation.v1")
    require_valid(kb("inspect", "chunk", first_chunk(kb), "--json").json, "chunk_inspection.v1")


def test_ranks_scores_and_citations_of_a_response(kb: Kb) -> None:
    response = kb("search", "청킹 규칙", "--json", "--k", "3").json
    assert (response["query"], response["mode"], response["k"]) == ("청킹 규칙", "lexical", 3)
    first = response["hits"][0]
    assert first["citation"]["uri"] == "chunking.md#L5-L7"
    assert first["score_kind"] == "bm25"
    assert first["retrieval"]["lexical_score"] == first["score"]
    assert first["heading_path"] == ["청킹 규칙"]


def kinds(events: Sequence[dict[str, Any]]) -> list[str]:
    return [event["kind"] for event in events]


def test_an_ingest_for_programs(fresh_vault: Vault) -> None:
    call = ("--config", str(fresh_vault.config), "ingest", "--json")
    ran = run_kb(*call)
    *events, report = ran.lines
    assert (ran.code, ran.stderr) == (0, "")
    for event in events:
        require_valid(event, "ingest_progress.v1")
    require_valid(report, "ingest_report.v1")
    assert kinds(events)[:2] == ["scan_started", "scan_completed"]
    assert kinds(events)[-1] == "completed"
    assert kinds(events).count("asset_started") == kinds(events).count("asset_finished") == 6
    started = [event["idx"] for event in events if event["kind"] == "asset_started"]
    assert started == list(range(1, 7))
    finished = {event["path"]: event["result"] for event in events if event["kind"] == "asset_finished"}
    assert set(finished.values()) == {"new"}
    assert (report["new"], report["scanned"], report["errors"]) == (6, 6, 0)
    assert {item["doc_path"] for item in report["items"]} == set(finished)
    assert events[-1]["counts"]["chunks_indexed"] == sum(item["chunk_count"] for item in report["items"])

    again = run_kb(*call).lines
    assert kinds(again[:-1]) == ["scan_started", "scan_completed", "completed"]
    assert (again[-1]["unchanged"], again[-1]["items"]) == (6, [])
    assert run_kb(*call, "--summary-only").lines[-1]["items"] is None


def test_what_changed_for_people(fresh_vault: Vault, snapshot: SnapshotAssertion) -> None:
    call = ("--config", str(fresh_vault.config), "ingest")
    shown = [run_kb(*call)]
    write_notes(fresh_vault.root, {"chunking.md": "# 청킹\n\n새 글이다.\n", "new\nline.md": "x\n", "empty.md": ""})
    (fresh_vault.root / "hostile.md").rename(fresh_vault.root / "tame.md")
    (fresh_vault.root / "projects/notes.md").unlink()
    shown += [run_kb(*call, "--dry-run"), run_kb(*call), run_kb(*call)]
    assert [(stable(ran.stdout, fresh_vault), ran.stderr, ran.code) for ran in shown] == snapshot


def test_a_dry_run_changes_nothing(fresh_vault: Vault) -> None:
    call = ("--config", str(fresh_vault.config))
    before = sorted(fresh_vault.config.parent.rglob("*"))
    ran = run_kb(*call, "ingest", "--dry-run")
    assert ran.code == 0
    assert "would be: 6 new" in ran.stdout
    assert sorted(fresh_vault.config.parent.rglob("*")) == before


def test_init_makes_what_is_missing_and_keeps_what_is_there(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    config = tmp_path / "sub" / "kb.toml"
    vault = Vault(tmp_path / "my notes", config, tmp_path / "data" / "kb.sqlite")
    call = ("--config", str(config), "init", "--root", str(vault.root), "--data-dir", str(tmp_path / "data"))

    def shown(text: str) -> str:
        text = _ALL_KINDS.sub(r"\1<all kinds>", text.replace(str(tmp_path), "<tmp>"))
        return re.sub(r"schema v\d+", "schema v<schema>", text)

    first = run_kb(*call)
    assert (first.code, first.stderr) == (0, "")
    assert shown(first.stdout) == snapshot(name="first")
    assert vault.root.is_dir()
    assert vault.sqlite.exists()
    written = config.read_text(encoding="utf-8")
    assert shown(written) == snapshot(name="file")

    config.write_text(written + "# mine\n", encoding="utf-8")
    assert shown(run_kb(*call).stdout) == snapshot(name="second")
    assert config.read_text(encoding="utf-8").endswith("# mine\n")
    forced = run_kb(*call, "--force", "--json")
    require_valid(forced.json, "init_report.v1")
    assert forced.json["created"] == {"config": True, "data_dir": False, "root": False, "sqlite": False}
    assert config.read_text(encoding="utf-8") == written
    assert run_kb("--config", str(config), "ingest").code == 0


@pytest.mark.parametrize("changed", ["--root", "--data-dir"])
def test_a_second_init_with_another_folder_says_that_it_did_nothing(changed: str, tmp_path: Path) -> None:
    config, other = tmp_path / "kb.toml", tmp_path / "other"
    call = ("--config", str(config), "init")
    assert run_kb(*call, "--root", str(tmp_path / "notes"), "--data-dir", str(tmp_path / "data")).code == 0
    again = run_kb(*call, changed, str(other))
    assert (again.code, again.stdout) == (2, "")
    assert not other.exists()
    was = {"--root": tmp_path / "notes", "--data-dir": tmp_path / "data"}[changed]
    assert f"nothing was changed: {config} is there already and says" in again.stderr
    assert f'"{was}"' in again.stderr
    assert "for a second knowledge base: kb --config OTHER.toml init" in again.stderr
    assert run_kb(*call, str(tmp_path / "notes")).code == 0
    twice = run_kb(*call, str(other), "--root", str(other))
    assert (twice.code, "the folder is named twice" in twice.stderr) == (2, True)


def test_before_the_first_ingest_it_is_said_that_nothing_is_indexed(tmp_path: Path) -> None:
    call = ("--config", str(make_vault(tmp_path).config))
    assert run_kb(*call, "init").code == 0
    for asked in (["search", "zebra"], ["search", "zebra", "--mode", "hybrid"], ["list", "docs", "--lang", "ko"]):
        ran = run_kb(*call, *asked)
        assert (ran.code, "nothing is indexed yet" in ran.stderr) == (1, True), ran
        assert "index --embeddings" not in ran.stderr
    assert "아직 색인된 것이 없음" in run_kb(*call, "ask", "얼룩말은 어디 사나?", "--provider", "extractive").stderr
    assert run_kb(*call, "search", "zebra", "--json").json["note"].startswith("nothing is indexed yet")
    assert run_kb(*call, "ingest", "--no-embed").code == 0
    assert run_kb(*call, "search", "platypus").stderr == ""


def test_files_whose_text_is_not_there_yet_are_told_by_search_ask_and_status(tmp_path: Path) -> None:
    vault = make_vault(tmp_path, {"zebra.md": "# Zebra\n\nA zebra has stripes.\n"})
    call = ("--config", str(vault.config))
    assert run_kb(*call, "ingest", "--no-embed").code == 0
    with closing(sqlite3.connect(vault.sqlite)) as db, db:
        db.execute(
            """
            WITH files (path, family) AS (VALUES ('a.png', 'image'), ('b.png', 'image'), ('c.pdf', 'pdf'))
            INSERT INTO unread_files
            SELECT path, path, family, 1, 0, '', 'waiting', 'not_read_yet', 'not read yet',
              'kb ingest reads them', '2026'
            FROM files
            """
        )
    said = "not read yet: 3 files (image 2, pdf 1); kb ingest goes on"
    for words in (("search", "zebra"), ("search", "platypus"), ("ask", "What does a zebra have?")):
        ran = run_kb(*call, *words, *(("--provider", "extractive") if words[0] == "ask" else ()))
        assert said in ran.stderr
    assert (
        "아직 읽지 않음: 파일 3개 (image 2, pdf 1); 이어서 읽기: kb ingest" in run_kb(*call, "search", "얼룩말").stderr
    )
    status = run_kb(*call, "status").stdout
    assert "3 not read yet: a.png and 2 more; kb ingest reads them" in " ".join(status.split())
    assert said in status
    assert run_kb(*call, "ingest", "--no-embed").code == 0, "the files were never there"
    assert "not read yet" not in run_kb(*call, "search", "zebra").stderr + run_kb(*call, "status").stdout


def test_status_tells_in_five_lines_what_is_indexed_when_and_what_is_pending(fresh_vault: Vault) -> None:
    kb = kb_in(fresh_vault)
    assert kb("ingest", "--no-embed").code == 0
    ran = kb("--set", "models.embedding.provider=none", "status")
    assert (ran.code, ran.stderr, ran.stdout.count("\n")) == (0, "", 5)
    assert (
        f"workspace    {fresh_vault.root}\nindexed      6 documents, 8 passages (markdown 6; en 4, ko 2)" in ran.stdout
    )
    assert re.search(r"last ingest  \d{4}-\d\d-\d\d \d\d:\d\d \S+ \(new 6\)\nsearched by  words\n", ran.stdout)
    assert "pending      search by meaning: " in kb("status").stdout
    require_valid(kb("status", "--json").json, "base_status.v1")


def test_a_machine_without_models_where_none_was_asked_for_is_in_order(fresh_vault: Vault) -> None:
    kb = kb_in(fresh_vault)
    assert kb("ingest", "--no-embed").code == 0
    ran = kb("doctor")
    assert (ran.code, "✗" in ran.stdout) == (0, False)
    assert "– embeddings         none: no model was installed, passages are found by their words" in ran.stdout
    assert kb("--set", "models.embedding.model=kb-encoder-1", "doctor").code == 3


def test_init_without_a_word_uses_the_usual_places(away_from_home: Path) -> None:
    ran = run_kb("init")
    assert (ran.code, ran.stderr) == (0, "")
    home = away_from_home
    assert (home / ".config/kb/config.toml").exists()
    assert (home / ".local/share/kb/kb.sqlite").exists()
    assert (home / "KnowledgeBase").is_dir()
