"""kb as a Python program uses it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from conftest import Vault, cpu_limited, indexed_vault, kb_in, make_vault
from plugin_fixtures import CUES

import kb
from kb import FetchTarget, KnowledgeBase, RunHandle, SearchFilters, open_knowledge_base, to_json
from kb.errors import ConfigError, ConfigNotFound, NotFound, NotIndexed, QuerySyntaxError, UsageError

PAGE = Path(__file__).parents[1] / "docs" / "python.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def opened(vault: Vault, **settings: object) -> KnowledgeBase:
    return open_knowledge_base(
        vault.config, settings={name.replace("__", "."): each for name, each in settings.items()}
    )


def test_the_examples_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: object) -> None:
    vault = make_vault(tmp_path / "notes")
    vault.config.rename(tmp_path / "notes" / "kb.toml")
    monkeypatch.chdir(tmp_path)
    said = []
    assert len(EXAMPLES) == 4
    left: dict[str, Any] = {"print": lambda *words: said.append(" ".join(map(str, words)))}
    for example in EXAMPLES:
        exec(compile(example, str(PAGE), "exec"), left)
    assert [block.last_line for block in left["Subtitles"]().extract(CUES, "sbv").blocks] == [4, 8, 12]
    assert said[0].startswith("1 projects/gateway/log.md#L")
    assert any(line.startswith("answered") for line in said)
    assert said[-1].startswith("query_syntax")


def test_a_search_finds_what_the_command_finds(vault: Vault) -> None:
    printed = kb_in(vault)("search", "gateway retries", "--json", "--k", "3").json
    with opened(vault) as base:
        result = base.search("gateway retries", k=3)
    assert [hit.citation.to_uri() for hit in result.hits] == [hit["citation"]["uri"] for hit in printed["hits"]]


def test_filters_and_settings_are_taken(vault: Vault) -> None:
    with opened(vault, search__default_k=1) as base:
        assert len(base.search("gateway").hits) == 1
        assert base.search("gateway", filters=SearchFilters(path_globs=("nowhere/**",))).hits == ()


def test_an_answer_cites_what_is_fetched_word_for_word(vault: Vault) -> None:
    with opened(vault) as base:
        answer = base.ask("What restarts the gateway?", provider="extractive", keep=False)
        assert answer.state == "answered"
        fetched = base.fetch(*(each.citation.to_uri() for each in answer.citations))
    assert fetched.failures == ()
    for place in fetched.places:
        path, first = re.fullmatch(r"(.*)#L(\d+).*", place.citation.to_uri()).groups()  # type: ignore[union-attr]
        lines = (vault.root / path).read_text("utf-8").splitlines()[int(first) - 1 :]
        assert place.text.splitlines()[0] == lines[0]


def test_places_that_are_not_there_are_failures(vault: Vault) -> None:
    with opened(vault) as base:
        fetched = base.fetch("nowhere.md", FetchTarget("projects/gateway/log.md", lines="1-2"))
    assert [failure.target for failure in fetched.failures] == ["nowhere.md"]
    assert len(fetched.places) == 1


def test_everything_is_listed_page_after_page(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kb.operations.inspect.listing.MOST_LISTED", 2)
    with opened(vault) as base:
        paths = [each.name for each in base.list()]
    assert len(paths) == len(set(paths)) > 2
    assert "projects/gateway/log.md" in paths


def test_an_ingest_is_reported_and_seen_at_once(fresh_vault: Vault) -> None:
    events: list[object] = []
    with opened(fresh_vault) as base:
        with pytest.raises(NotIndexed):
            base.search("gateway")
        report = base.ingest(embed=False, on_event=events.append)
        assert report.counts.new == report.counts.scanned > 0
        assert events
        assert base.search("gateway").hits
        (fresh_vault.root / "new.md").write_text("# Quokka\n\nThe quokka smiles.\n", encoding="utf-8")
        assert base.ingest("new.md", embed=False, dry_run=True).counts.new == 1
        assert base.search("quokka").hits == ()
        base.ingest("new.md", embed=False)
        assert base.search("quokka").hits[0].citation.to_uri().startswith("new.md#")


def test_content_from_elsewhere_is_copied_indexed_and_stays_below_its_folder(fresh_vault: Vault) -> None:
    elsewhere = fresh_vault.root.parent / "heron.md"
    elsewhere.write_text("# Heron\n\nIt nests in reeds.\n", encoding="utf-8")
    with opened(fresh_vault) as base:
        first = base.ingest_file(elsewhere, embed=False)
        again = base.ingest_file("other.md", elsewhere.read_bytes(), embed=False)
        assert (first.was_there, again.was_there, first.workspace_path) == (False, True, again.workspace_path)
        named = base.ingest_file("../../Dockerfile", b"FROM heron\n", embed=False)
        assert base.fetch(first.workspace_path).places[0].text.startswith("# Heron")
        assert json.loads(to_json(first))["schema_version"] == "ingest_report.v1"
    assert re.fullmatch(r"_external/[0-9a-f]{12}/Dockerfile", named.workspace_path)
    assert (fresh_vault.root / named.workspace_path).read_text(encoding="utf-8") == "FROM heron\n"


def test_a_golden_file_is_measured(fresh_vault: Vault, tmp_path: Path) -> None:
    suite = tmp_path / "golden.yaml"
    suite.write_text(
        "suite: x\nquestions:\n- id: a\n  query: gateway retries\n  expected: [projects/gateway/log.md]\n",
        encoding="utf-8",
    )
    with opened(fresh_vault) as base:
        base.ingest(embed=False)
        report = base.evaluate(suite, mode="lexical", name="first")
    assert json.loads(to_json(report))["schema_version"] == "eval_run.v1"
    assert report.run.questions == 1
    assert [group.hit_at_1 for group in report.groups if group.grouping == "all"] == [1.0]


def test_every_public_name_is_there_and_a_type_to_annotate_with() -> None:
    assert [name for name in kb.__all__ if not hasattr(kb, name)] == []
    with pytest.raises(AttributeError, match="Nonsense"):
        _ = kb.Nonsense


def test_pages_of_several_questions_hold_each_hit_once(vault: Vault) -> None:
    with opened(vault) as base:
        page = base.search_page("gateway retries", also=["청킹 규칙"], k=2)
        found = [hit.chunk_id for hit in page.hits]
        assert [page.found_by[chunk] for chunk in found] == [(1,), (2,)]
        while page.next_cursor:
            page = base.search_page("gateway retries", also=["청킹 규칙"], k=2, cursor=page.next_cursor)
            found += [hit.chunk_id for hit in page.hits]
    assert len(found) == len(set(found)) > 2


def test_results_are_the_objects_that_the_commands_print(vault: Vault) -> None:
    printed = kb_in(vault)("search", "gateway retries", "--json", "--k", "3").json
    with opened(vault) as base:
        made = json.loads(to_json(base.search("gateway retries", k=3)))
    assert [hit["citation"] for hit in made["hits"]] == [hit["citation"] for hit in printed["hits"]]
    assert made["schema_version"] == printed["schema_version"] == "search_response.v1"


def test_answers_are_kept_listed_and_checked(fresh_vault: Vault) -> None:
    with opened(fresh_vault) as base:
        base.ingest(embed=False)
        assert base.status().documents > 3
        asked = base.ask("What restarts the gateway?", provider="extractive")
        [summary] = base.answers()
        assert base.answer().text == base.answer(summary.trace_id[:8]).text == asked.text
        base.ask("And what then?", provider="extractive", conversation="gateway")
        [conversation] = base.conversations()
        assert (conversation.session_id, conversation.turn_count) == ("gateway", 1)
        assert [turn.question for turn in base.conversation("gateway").turns] == ["And what then?"]
        [check] = base.verify(summary.trace_id)
        assert {quote.standing for quote in check.quotes} == {"stands"}


def test_a_program_may_read_what_agents_may_read(tmp_path: Path) -> None:
    notes = {"open.md": "# Open\n\nThe heron nests.\n", "kept.md": "---\ntags: [never-to-mcp]\n---\n# A heron\n"}
    made = indexed_vault(tmp_path, notes)
    with open_knowledge_base(made.config, audience="agent") as base:
        assert [each.name for each in base.list()] == ["open.md"]
        assert {hit.doc_path for hit in base.search("heron").hits} == {"open.md"}
        assert base.fetch("kept.md").places == ()
    with open_knowledge_base(made.config) as base:
        assert len(list(base.list())) == 2


def test_a_long_call_stops_where_its_handle_is_canceled(fresh_vault: Vault) -> None:
    handle = RunHandle()
    handle.cancel()
    with opened(fresh_vault) as base:
        report = base.ingest(embed=False, handle=handle)
        assert report.counts.new == 0


def test_calls_are_awaited_on_other_threads(vault: Vault) -> None:
    async def both(base: KnowledgeBase) -> list[int]:
        searches = [asyncio.to_thread(base.search, text, k=1) for text in ("gateway", "청킹")]
        return [len(result.hits) for result in await asyncio.gather(*searches)]

    with opened(vault) as base:
        assert asyncio.run(both(base)) == [1, 1]


def test_several_threads_ask_one_base(vault: Vault) -> None:
    with opened(vault) as base:
        alone = [hit.citation.to_uri() for hit in base.search("gateway").hits]
        found: list[list[str]] = []

        def ask() -> None:
            found.append([hit.citation.to_uri() for hit in base.search("gateway").hits])

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [alone] * 8


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda base: base.search(" "), UsageError, "no question"),
        (lambda base: base.search("gateway", k=0), UsageError, "k is 0"),
        (lambda base: base.search("gateway", k=2.5), UsageError, "k is 2.5"),
        (lambda base: base.search("gateway", mode="fuzzy"), UsageError, "no mode 'fuzzy'"),
        (lambda base: base.search(None), UsageError, "not None"),
        (lambda base: base.search("gateway", filters=SearchFilters(tags_any="infra")), UsageError, "tags_any='infra'"),
        (lambda base: base.ask("gateway?", filters={"lang": "en"}), UsageError, "filters are"),
        (lambda base: base.ask("qzx?", provider="gpt"), UsageError, "no provider 'gpt'"),
        (lambda base: next(base.list("foo")), UsageError, "no list of 'foo'"),
        (lambda base: base.search("'retry AND'"), QuerySyntaxError, "FTS5"),
        (lambda base: base.ask(""), UsageError, "no question"),
        (lambda base: base.search("gateway", k=True), UsageError, "k is True"),
        (lambda base: base.search("gateway", mode=["lexical"]), UsageError, "no mode ['lexical']"),
        (lambda base: base.search("gateway", filters=SearchFilters(lang=5)), UsageError, "lang=5"),
        (lambda base: base.search("gateway", filters=SearchFilters(tags_any=(5,))), UsageError, "tags_any=(5,)"),
        (lambda base: base.search_page("gateway", also="retries"), UsageError, "also is 'retries'"),
        (lambda base: base.search_page("gateway", also=None), UsageError, "also is None"),
        (lambda base: base.search_page("gateway", max_tokens=0), UsageError, "a budget of 0 tokens"),
        (lambda base: base.search("a", filters=SearchFilters(dated="soon")), UsageError, "dated: 'soon' names no days"),
        (lambda base: base.search("a", filters=SearchFilters(path_globs=("[",))), UsageError, "malformed pattern '['"),
        (lambda base: base.ask("gateway?", deep="yes"), UsageError, "deep is 'yes'"),
        (lambda base: base.ask("gateway?", keep=0), UsageError, "keep is 0"),
        (lambda base: base.ingest(embed="no"), UsageError, "embed is 'no'"),
        (lambda base: base.ingest_file("a.md", "text"), UsageError, "data is 'text'"),
        (lambda base: base.answers(-1), UsageError, "limit is -1"),
        (lambda base: base.conversation("none"), NotFound, "no session 'none'"),
        (lambda base: base.search_page("gateway", cursor=5), UsageError, "cursor is 5"),
        (lambda base: base.ask("gateway?", conversation=5), UsageError, "conversation is 5"),
        (lambda base: base.ask("gateway?", on_event=5), UsageError, "on_event is 5"),
        (lambda base: base.ask("gateway?", handle=5), UsageError, "handle is 5"),
        (lambda base: base.fetch(5), UsageError, "place is 5"),
        (lambda base: base.fetch("a.md", context_lines="2"), UsageError, "context_lines is '2'"),
        (lambda base: list(base.list(glob=3)), UsageError, "glob is 3"),
        (lambda base: base.ingest(5), UsageError, "path is 5"),
        (lambda base: base.evaluate(5), UsageError, "suite is 5"),
        (lambda base: base.answer(5), UsageError, "answer_id is 5"),
        (lambda base: to_json("text"), UsageError, "no result of kb"),
        (lambda base: open_knowledge_base(5), UsageError, "config is 5"),
        (lambda base: open_knowledge_base(settings=5), UsageError, "settings is 5"),
        (lambda base: open_knowledge_base(audience="page"), UsageError, "no audience 'page'"),
        (lambda base: base.fetch(), UsageError, "no place"),
        (lambda base: base.ingest("/etc"), UsageError, "/etc"),
    ],
)
def test_what_cannot_be_done_is_an_error(call: object, error: type[Exception], said: str, vault: Vault) -> None:
    with opened(vault) as base, pytest.raises(error, match=re.escape(said)):
        call(base)  # type: ignore[operator]


def test_a_configuration_that_is_none_is_an_error(tmp_path: Path, vault: Vault) -> None:
    with pytest.raises(ConfigNotFound):
        open_knowledge_base(tmp_path / "nowhere.toml")
    with pytest.raises(ConfigError):
        opened(vault, search__no_such_key=1)


def test_a_closed_base_says_so_and_closes_twice(vault: Vault) -> None:
    base = opened(vault)
    base.close()
    base.close()
    with pytest.raises(UsageError, match="closed"):
        base.search("gateway")


PROGRAM = """
import gc, os, stat, sys
from kb import open_knowledge_base

os.umask(0o022)
before = dict(os.environ)
seen = []

def look(event):
    umask = os.umask(0o022)
    os.umask(umask)
    seen.append((umask, dict(os.environ) == before))

base = open_knowledge_base(sys.argv[1])
base.ingest(on_event=look)
assert base.search("gateway retries").hits
base.ask("How often does the gateway retry?", on_event=look)
look(None)
del base  # nobody closes it
gc.collect()
look(None)
assert set(seen) == {(0o022, True)}, set(seen)
"""


def test_a_program_keeps_its_environment_and_umask_and_what_kb_makes_is_private(fresh_vault: Vault) -> None:
    settings = f'cache_dir = "{fresh_vault.config.parent}/made/here/cache"\n'
    fresh_vault.config.write_text(fresh_vault.config.read_text(encoding="utf-8") + settings, encoding="utf-8")
    env = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "ORT_", "DO_NOT"))}
    env["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    command = cpu_limited([sys.executable, "-W", "error", "-c", PROGRAM, str(fresh_vault.config)])
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    open_to_others = [
        path
        for path in [fresh_vault.sqlite.parent, *fresh_vault.sqlite.parent.rglob("*")]
        if path.stat().st_mode & 0o077 and path.parent.stat().st_mode & 0o077
    ]
    assert open_to_others == []
    assert fresh_vault.sqlite.stat().st_mode & 0o077 == 0
