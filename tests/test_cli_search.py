"""`kb search` as a stream of questions, and on a terminal: colours, links, folding, no smuggled codes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import pytest
from conftest import Kb, Ran, Vault
from on_terminal import ESCAPES, LINK, on_a_terminal, shown_text
from wire_schemas import require_valid

from kb.cli.output.printing import MATCH
from kb.cli.output.terminal import fold, width_cells
from kb.domain.text import plain, plain_line


def bulk(kb: Kb, *lines: object) -> list[Any]:
    stdin = b"".join(
        (line if isinstance(line, bytes) else json.dumps(line, ensure_ascii=False).encode("utf-8")) + b"\n"
        for line in lines
    )
    ran: Ran = kb("search", "--bulk", stdin=stdin)
    bad = [item for item in ran.lines if item["error"] is not None]
    said = f"{len(bad)} of {len(ran.lines)} lines could not be answered" if bad else ""
    assert ran.code == (2 if bad else 0)
    assert said in ran.stderr
    assert bool(said) == bool(ran.stderr)
    for item in ran.lines:
        require_valid(item, "bulk_search_item.v1")
    return ran.lines


def test_every_question_is_answered_in_order(kb: Kb) -> None:
    items = bulk(kb, {"query": "청킹", "k": 1}, {"query": "platypus"}, {"query": "gateway", "mode": "lexical"})
    assert [item["index"] for item in items] == [0, 1, 2]
    assert [len(item["response"]["hits"]) for item in items] == [1, 0, 4]
    assert items[0]["query"] == {"query": "청킹", "k": 1}
    assert all(item["error"] is None for item in items)


def test_a_line_without_end_is_one_item_and_the_next_is_answered(kb: Kb) -> None:
    endless = b"x" * 3_500_000
    first, second = bulk(kb, endless, {"query": "gateway"})
    assert (first["index"], first["query"]) == (0, None)
    assert "more than 1,000,000 bytes" in first["error"]["message"]
    assert second["response"]["hits"]


def test_nul_and_bytes_of_no_text_in_bulk_are_items(kb: Kb) -> None:
    first, second, third, fourth = bulk(
        kb, b"\x00\x01\xff", {"query": "gate\0way"}, b"\xfe" * 999, {"query": "gateway"}
    )
    assert "not JSON" in first["error"]["message"]
    assert second["response"]["terms"] == ["gate", "way"]
    assert "not JSON" in third["error"]["message"]
    assert fourth["response"]["hits"]


def test_mode_and_k_beside_bulk_hold_for_lines_that_name_none(kb: Kb) -> None:
    lines = "\n".join(
        json.dumps(line) for line in ({"query": "gateway"}, {"query": "gateway", "k": 2, "mode": "hybrid"})
    )
    ran = kb("--set", "search.mode=hybrid", "search", "--bulk", "--mode", "lexical", "--k", "1", stdin=lines)
    first, second = (item["response"] for item in ran.lines)
    assert (first["k"], len(first["hits"]), first["note"]) == (1, 1, None)  # no word of vectors that are missing
    assert (second["k"], len(second["hits"])) == (2, 2)
    assert "by words only" in second["note"]


def test_notes_on_a_korean_question_are_korean(kb: Kb) -> None:
    ran = kb("search", "--mode", "hybrid", "게이트웨이는 어떻게 다시 시도하나요?")
    assert "참고: 단어로만 검색: 의미로 찾을 벡터나 모델이 없습니다 (kb index --embeddings)" in ran.stderr
    assert "by words only" not in ran.stderr


def test_a_question_in_bulk_gives_what_it_gives_alone(kb: Kb) -> None:
    (item,) = bulk(
        kb,
        {
            "query": "gateway",
            "k": 5,
            "tag": ["회의"],
            "lang": "en",
            "path_glob": ["projects/**"],
            "trust_min": "secondary",
        }
        | {"media": "markdown"},
    )
    words = ["--tag", "회의", "--lang", "en", "--path-glob", "projects/**", "--trust-min", "secondary"]
    alone = kb("search", "gateway", "--k", "5", *words, "--media", "markdown", "--json").json
    assert item["response"] == alone
    assert alone["hits"]


BAD_LINES: list[tuple[object, str]] = [
    (b"not json", "not JSON"),
    (b'{"query": "a"', "not JSON"),
    (b"\xff\xfe", "not JSON"),
    (b'{"query": NaN}', "not JSON"),
    (b'{"query": "\\ud800"}', "not JSON"),
    (b"[" * 100_000, "not JSON"),
    (b'{"query": "a", "k": ' + b"9" * 5000 + b"}", ""),
    ([], "the line"),
    ("query", "the line"),
    (None, "the line"),
    ({}, "query"),
    ({"query": ""}, "query"),
    ({"query": 3}, "query"),
    ({"query": "a", "k": 0}, "k: "),
    ({"query": "a", "k": "5"}, "k: "),
    ({"query": "a", "k": 1001}, "k: "),
    ({"query": "a", "mode": "magic"}, "mode"),
    ({"query": "a", "tag": "x"}, "tag"),
    ({"query": "a", "tags": ["x"]}, "tags"),
    ({"query": "a", "trust_min": "holy"}, "trust_min"),
    ({"query": "'AND'"}, "FTS5"),
]


def test_a_bad_line_is_an_item_and_stops_nothing(kb: Kb) -> None:
    good = {"query": "gateway"}
    lines = [line for bad, _ in BAD_LINES for line in (bad, good)]
    items = bulk(kb, *lines)
    assert len(items) == len(lines)
    for (bad, says), item, after in zip(BAD_LINES, items[::2], items[1::2], strict=True):
        assert item["response"] is None, bad
        assert says in item["error"]["message"], bad
        assert item["error"]["hint"]
        assert after["response"]["hits"]
        if says != "not JSON" and not isinstance(bad, bytes):
            assert item["query"] == bad


def test_blank_lines_and_marks_of_encoding_are_no_questions(kb: Kb) -> None:
    items = bulk(kb, b"\xef\xbb\xbf" + b'{"query": "gateway"}', b"", b"   ", b'{"query": "zebra"}\r')
    assert [item["response"]["query"] for item in items] == ["gateway", "zebra"]
    assert bulk(kb) == []


@pytest.mark.slow
def test_any_number_of_questions_is_streamed(vault: Vault) -> None:
    """Each answer comes before the next question is asked."""
    command = [sys.executable, "-m", "kb", "--config", str(vault.config), "search", "--bulk"]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in range(150):
            process.stdin.write(json.dumps({"query": f"gateway {number}"}) + "\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["index"] == number
        process.stdin.close()
        assert process.wait() == 0


# --- on a terminal ----------------------------------------------------------------------------------------------------


def test_matches_are_set_off_on_a_terminal(vault: Vault) -> None:
    shown = on_a_terminal(vault.config, "search", "청킹 제목")
    assert click.style("제목", **MATCH) in shown
    assert max(width_cells(line) for line in shown_text(shown).splitlines()) <= 40


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_without_colour_the_lines_are_the_same(env: dict[str, str], vault: Vault) -> None:
    shown = on_a_terminal(vault.config, "search", "청킹 규칙", **env)
    assert not ESCAPES.search(shown)
    assert shown_text(shown) == shown_text(on_a_terminal(vault.config, "search", "청킹 규칙"))
    assert max(width_cells(line) for line in shown_text(shown).splitlines()) <= 40


@pytest.mark.parametrize(
    ("env", "linked"),
    [
        ({}, True),
        ({"TERM": "screen-256color"}, True),
        ({"NO_COLOR": "1"}, True),
        ({"TERM": "dumb"}, False),
        ({"TERM": "linux"}, False),
        ({"KB_HYPERLINKS": "0"}, False),
        ({"TERM": "dumb", "KB_HYPERLINKS": "1"}, True),
    ],
    ids=str,
)
def test_citations_are_links_on_a_terminal(env: dict[str, str], linked: bool, vault: Vault) -> None:
    shown = on_a_terminal(vault.config, "search", "귤", **env)
    targets = LINK.findall(shown)
    assert bool(targets) == linked
    if linked:
        assert targets[0].startswith("file://")
        assert targets[0].endswith("/notes/projects/gateway/meeting%20%232.md")
        assert targets[1] == ""
    assert "projects/gateway/meeting #2.md#L1-L4" in " ".join(shown_text(shown).split())


def test_a_pipe_gets_plain_text_and_links_only_when_told(kb: Kb) -> None:
    assert "\x1b" not in kb("search", "귤", env={"TERM_PROGRAM": "WezTerm", "FORCE_COLOR": "1"}).stdout
    assert LINK.search(kb("search", "귤", env={"KB_HYPERLINKS": "1"}).stdout)


def test_a_document_cannot_drive_the_terminal(vault: Vault) -> None:
    for args in (["search", "zebra"], ["list", "docs"], ["inspect", "doc", "hostile.md"]):
        shown = LINK.sub("", ESCAPES.sub("", on_a_terminal(vault.config, *args, KB_HYPERLINKS="1")))
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)
        assert "\N{REPLACEMENT CHARACTER}[31mtitle" in shown


def test_what_is_plain() -> None:
    assert plain("a\x1b[0m\tb\nc\x07\x9b\u202e\ud800") == "a\ufffd[0m\tb\nc\ufffd\ufffd\ufffd\ufffd"
    assert plain_line("a\n\tb\u2028c\n") == "a \tb c"
    assert plain("청킹 é 😀") == "청킹 é 😀"


@pytest.mark.parametrize(("text", "cells"), [("abc", 3), ("한글", 4), ("e\u0301", 1), ("😀", 2), ("", 0)])
def test_cells(text: str, cells: int) -> None:
    assert width_cells(text) == cells


@pytest.mark.parametrize(
    "text", ["", "one", "한글 단어가 여럿 있는 긴 줄", "x" * 50, "a bb ccc dddd eeeee " * 5, "한" * 30]
)
@pytest.mark.parametrize("width", [2, 7, 20, 200])
def test_folding_keeps_every_word_and_the_width(text: str, width: int) -> None:
    lines = fold(text, width)
    assert "".join(text[start:end] for start, end in lines).replace(" ", "") == text.replace(" ", "")
    assert all(width_cells(text[start:end]) <= width for start, end in lines)
    assert all(before[1] <= after[0] for before, after in pairwise(lines))


def test_source_paths_are_those_of_this_machine(vault: Vault, kb: Kb) -> None:
    document = kb("inspect", "doc", "chunking.md", "--json").json
    assert Path(document["source_path"]) == vault.root / "chunking.md"


@pytest.mark.parametrize(("command", "asked"), [("search", "query"), ("ask", "question")])
def test_a_lone_dash_reads_the_question_from_standard_input(kb: Kb, command: str, asked: str) -> None:
    (given,) = kb(command, "-", "--json", stdin="\ufeffgateway\n").lines
    assert given[asked] == "gateway"


@pytest.mark.parametrize(
    ("stdin", "says"),
    [("", "is empty"), (" \n", "is empty"), (b"\xff\xfe", "UTF-8"), (b"a" * 1_000_001, "1,000,000 bytes")],
)
def test_what_is_no_question_on_standard_input_is_an_error(kb: Kb, stdin: str | bytes, says: str) -> None:
    for command in ("search", "ask"):
        ran = kb(command, "-", stdin=stdin)
        assert ran.code == 2
        assert says in ran.stderr
        assert "kb ask -" in ran.stderr
