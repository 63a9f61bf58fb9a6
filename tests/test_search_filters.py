"""Filters as they are typed: what tags and languages mean, and what is told where no document passes one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Kb, Vault, indexed_vault, kb_in

from kb.config import load
from kb.domain.filters import FILTERS, OPTIONS, Filter, SearchFilters, named_filters, with_values
from kb.domain.run_handle import RunHandle
from kb.operations.ask.ask import ask
from kb.operations.ask.findings import AskRequest
from kb.operations.opening.base import open_base
from kb.wire.schemas import json_schemas

NOTES = {
    "recipes/jjim.md": "---\nTags: [Work, Home/Boiler]\n---\n# Jjim\n\nBraise the kimchi with pork (양재천 시장).\n",
    "recipes/stew.md": "---\nTAGS: home\nTitle: Stew of the house\n---\n# Other\n\nBoil the kimchi with tofu.\n",
    "diary/day.md": "# 하루\n\n오늘은 김치를 담그고 보일러를 고쳤다. #home/boiler\n",
    "homework.md": "---\ntags: homework\n---\n# Homework\n\nKimchi essay, due on Monday.\n",
    "src/pot.py": "def boil(kimchi):\n    return kimchi\n",
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return indexed_vault(tmp_path_factory.mktemp("filters"), NOTES)


@pytest.fixture(scope="module")
def kb(kept: Vault) -> Kb:
    return kb_in(kept)


def paths(kb: Kb, *words: str) -> set[str]:
    ran = kb("search", "--json", "--k", "50", *words)
    return {hit["doc_path"] for hit in ran.json["hits"]}


STEW, JJIM, DAY = "recipes/stew.md", "recipes/jjim.md", "diary/day.md"


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("home", {STEW, JJIM, DAY}),
        ("HOME/", {STEW, JJIM, DAY}),
        ("#home/boiler", {JJIM, DAY}),
        ("work", {JJIM}),
        ("homework", {"homework.md"}),
    ],
)
def test_a_tag_finds_its_children_in_whatever_case(tag: str, expected: set[str], kb: Kb) -> None:
    assert paths(kb, "kimchi 김치", "--tag", tag) == expected
    assert paths(kb, "kimchi 김치", f"tag:{tag}") == expected
    listed = kb("list", "docs", "--json", "--tag", tag)
    assert {line["doc_path"] for line in listed.lines} == expected


def test_keys_of_frontmatter_are_read_in_whatever_case(kb: Kb) -> None:
    assert kb("search", "stew of the house", "--json").json["hits"][0]["title"] == "Stew of the house"


def test_a_language_finds_every_note_that_has_some_of_it(kb: Kb) -> None:
    assert JJIM in paths(kb, "양재천", "--lang", "ko")
    assert paths(kb, "kimchi 김치", "lang:ko") == {JJIM, DAY}
    assert DAY not in paths(kb, "kimchi 김치", "--lang", "en")


@pytest.mark.parametrize(
    ("option", "operator", "nearest"),
    [
        (("--lang", "korean"), "lang:korean", "ko"),
        (("--lang", "ko-KR"), "lang:ko-KR", "ko"),
        (("--tag", "hom/boiler"), "tag:hom/boiler", "Home/Boiler"),
        (("--tag", "nosuch"), "tag:nosuch", "there are"),
        (("--path-glob", "/abs/recipes/**"), "path:/abs/recipes/**", "recipes/**"),
        (("--path-glob", "recipe/*.md"), "path:recipe/*.md", "recipes/**"),
        (("--media", "image"), None, "there are"),
        (("--code-lang", "py"), None, "python"),
        (("--kind", "Function"), None, "function"),
        (("--symbol", "boyl"), None, "boil"),
        (("--repo", "nosuch"), None, "no document has the repository"),
        (("--dated", "1999"), None, "no document has a date in"),
        (None, "title:nosuch", 'no document has "nosuch" in its title'),
    ],
)
def test_a_filter_that_no_document_passes_names_the_nearest_value(
    option: tuple[str, str] | None, operator: str | None, nearest: str, kb: Kb
) -> None:
    for words in filter(None, (option, operator and (operator,))):
        ran = kb("search", "kimchi", *words)
        assert (ran.code, "no hits" in ran.stdout) == (1, True)
        assert nearest in " ".join(ran.stderr.split())
        assert nearest in kb("search", "kimchi", "--json", *words).json["note"]
    if option:
        assert nearest in " ".join(kb("list", "docs", *option).stderr.split())


def test_filters_that_only_together_leave_nothing_say_so(kb: Kb) -> None:
    assert "no document passes all" in kb("search", "kimchi", "--tag", "work", "--path-glob", "homework.md").stderr


def test_korean_questions_are_told_in_korean(kb: Kb) -> None:
    assert '"korean": 그런 문서 없음 (비슷한 값: ko)' in kb("search", "김치", "lang:korean", "--json").json["note"]


def test_a_phrase_that_stands_nowhere_is_told(kb: Kb) -> None:
    assert 'holds "pork with kimchi"' in kb("search", '"pork with kimchi"', "--json").json["note"]


def test_an_answer_says_which_filter_no_document_passes(kept: Vault) -> None:
    with open_base(load(str(kept.config))) as session:
        answer = ask(
            session, AskRequest("kimchi?", "lexical", 5, SearchFilters(lang="korean"), keep=False), RunHandle()
        )
    assert "the nearest is ko" in " ".join(answer.notes)


# --- on the command line ----------------------------------------------------------------------------------------------


def test_a_word_with_a_minus_is_no_option(kb: Kb) -> None:
    assert paths(kb, "kimchi", "-tofu") == {JJIM, "homework.md", "src/pot.py"}
    assert paths(kb, "-tofu", "kimchi", "--k", "50") == {JJIM, "homework.md", "src/pot.py"}
    assert paths(kb, "kimchi", '-"due on"', "-tag:home") == {"src/pot.py"}
    assert paths(kb, "--", "kimchi", "-tofu") == {JJIM, "homework.md", "src/pot.py"}
    assert kb("search", "-19", "kimchi").code == 0
    assert kb("search", "kimchi", "--tofu").code == 2
    assert kb("search", "kimchi", "--tag", "-tofu").code == 1
    assert kb("ask", "kimchi", "-tofu", "--provider", "extractive").stderr.startswith("note")
    assert "Usage" in kb("search", "kimchi", "-h").stdout


def test_operators_hold_in_bulk(kb: Kb) -> None:
    lines = [json.dumps({"query": text}) for text in ("kimchi -tofu", '"with tofu"', "kimchi tag:home/boiler")]
    found = [
        {hit["doc_path"] for hit in line["response"]["hits"]}
        for line in kb("search", "--bulk", stdin="\n".join(lines)).lines
    ]
    assert found == [{JJIM, "homework.md", "src/pot.py"}, {STEW}, {JJIM}]


def test_hits_one_a_file_and_hits_that_score_enough(kb: Kb) -> None:
    every = kb("search", "kimchi 김치", "--json", "--k", "50").json["hits"]
    files = kb("search", "kimchi 김치", "--files", "--k", "3")
    assert len(set(files.stdout.splitlines())) == len(files.stdout.splitlines()) == 3
    one_each = kb("search", "kimchi 김치", "--per-file", "1", "--json", "--k", "50").json["hits"]
    assert len(one_each) == len({hit["doc_path"] for hit in every})
    least = every[1]["score"]
    enough = kb("search", "kimchi 김치", "--min-score", str(least), "--json", "--k", "50").json["hits"]
    assert [hit["chunk_id"] for hit in enough] == [hit["chunk_id"] for hit in every if hit["score"] >= least]
    assert kb("search", "kimchi", "--min-score", "99").code == 1
    assert kb("search", "kimchi", "--min-score", "1", "--cursor", "start").code == 2


def test_hits_for_vim_name_the_line_and_the_byte_of_the_match(kept: Vault, kb: Kb) -> None:
    shown = kb("search", "보일러", "--format", "vim", "--path-glob", "diary/**").stdout
    path, line, column, text = shown.rstrip("\n").split(":", 3)
    stored = Path(path).read_text(encoding="utf-8").split("\n")
    assert text == stored[int(line) - 1]
    assert text.encode()[int(column) - 1 :].startswith("보일러".encode())


# A value of each filter that one of the documents has.
VALUES = {
    "tags_any": "work",
    "lang": "en",
    "path_globs": "src/**",
    "sources": "workspace",
    "trust_min": "primary",
    "media": "code",
    "dated": "2026-11-12",
    "since": "2026-03",
    "before": "2026-11-12",
    "where": "title~stew",
    "symbol": "boil",
    "symbol_kind": "function",
    "code_lang": "python",
    "repo": "pots",
}


@pytest.mark.parametrize("each", OPTIONS, ids=lambda each: each.field)
def test_a_filter_of_the_table_is_taken_by_every_surface(each: Filter, kb: Kb) -> None:
    value, tool_name = VALUES[each.field], each.tool_name if each.tool_name else each.name
    expected = paths(kb, "kimchi 김치", f"--{each.name.replace('_', '-')}", value)
    given = [value] if each.many else value
    bulk = kb("search", "--bulk", stdin=json.dumps({"query": "kimchi 김치", "k": 50, each.name: given}))
    assert {hit["doc_path"] for hit in bulk.lines[0]["response"]["hits"]} == expected
    schemas = json_schemas(["search_arguments.v1", "ask_arguments.v1", "bulk_search_query.v1"])
    in_tools, in_ask, in_bulk = (schema["properties"] for schema in schemas.values())
    assert in_tools[tool_name] == in_ask[tool_name]
    assert each.name in in_bulk
    only = with_values(SearchFilters(), each, [value])
    assert named_filters({each.name: given}) == named_filters({tool_name: given}) == only


def test_the_table_is_of_the_fields_of_filters() -> None:
    assert tuple(each.field for each in FILTERS) == SearchFilters._fields[: len(FILTERS)]
