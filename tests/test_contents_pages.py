"""Tables of contents, indexes and lists of figures are found, and no answer is made of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import make_vault, run_kb

from kb.language.pages import lists_pages

CONTENTS = """Table of Contents

1
Introduction . . . . . . . . . . . . . . . . 1
1.1
Why the staging database crawls . . . . . . . . 3
1.2
Fat-free accounting
. . . . . . . . . . . . 4
2
Building the program . . . . . . . . . . . 17
"""
INDEX = """Concept index

A
awk. . . . . . . . . . . . 3
arrays . . . . . . . . . . . 24, 29

B
binary files. . . . . . . . . 24, 29
comma separated values. . . . . . . . . . 7
"""
KOREAN = "차례\n\n제 1 절\n들어가며 . . . . .\n3\n문단 정렬 . . . .\n16\n분철 ......... 17\n기호 …… …… 18\n"
PLAIN = "목차\n\n들어가며 1\n설치하기\n4\n설정 9\n문제 해결 21\n"


@pytest.mark.parametrize("text", [CONTENTS, INDEX, KOREAN, PLAIN])
def test_lists_of_pages_are_known(text: str) -> None:
    assert lists_pages(text)


@pytest.mark.parametrize(
    "text",
    [
        "Soup . . . . 900\nBread . . . . 250\nTea . . . . 420\nPie . . . . 310\nAle . . . . 150\n",
        "Contents of the first-aid box\n\nPlasters 20\nScissors 1\nBandages 4\nGloves 2\n",
        "It took a while . . . . and then the crane moved 3 metres.\nThe boom is lowered.\n",
        "| item | price |\n| --- | --- |\n| soup | 900 |\n| bread | 1200 |\n| tea | 1300 |\n| pie | 1400 |\n",
        "Sales\n\nMonday 12\nTuesday 15\nWednesday 18\nThursday 21\nFriday 30\n",
    ],
)
def test_prices_counts_and_prose_are_no_list_of_pages(text: str) -> None:
    assert not lists_pages(text)


def test_a_table_of_contents_is_found_and_not_answered_from(tmp_path: Path) -> None:
    vault = make_vault(
        tmp_path,
        {"manual.md": CONTENTS, "diary.md": "# Work\n\nThe staging database crawls because autovacuum was off.\n"},
    )
    config = ("--config", str(vault.config))
    assert run_kb(*config, "ingest", "--no-embed").code == 0
    assert "manual.md" in run_kb(*config, "search", "staging database crawls", "--mode", "lexical").stdout
    answer = run_kb(*config, "ask", "why does the staging database crawl?", "--mode", "lexical").stdout
    assert "autovacuum was off" in answer
    assert "Fat-free" not in answer
