"""training/pages.py: sections of documentation in two languages, how they are paired, and what a step asks of them."""

from __future__ import annotations

import csv
from itertools import islice
from pathlib import Path

import pytest
from test_training import needs_torch, recorded, tiny_training, trained

from training.pages import PageBatches, Pages, Pair, read_pages, sections
from training.questions import BadData, CheckoutMissing, Passage

__all__ = ["tiny_training"]

CHECKOUT = Path(__file__).parents[1]
TABLE = CHECKOUT / "benchmarks/training/pages.tsv"
COLUMNS = "repository commit licence korean english english_repository english_commit most".split()

ENGLISH = """\
---
title: "Boilers"
---

A boiler [heats](heat.md) water in the **cellar** of the house. It wants a look in autumn, before the cold days come.

## Pressure {#pressure}

The gauge shows between 1.2 and 1.8 bar while the boiler is cold. Below that, open the valve and wait for the needle.

```sh
# not a heading
boilerctl --fill-valve open --until-bar 1.5
```
"""
KOREAN = """\
---
title: 보일러
---

보일러는 지하실에서 집 안의 물을 데운다. 추워지기 전, 가을에 한 번은 꼭 살펴보아야 하는 물건이다. 겨울에는 늦다.

## 압력

보일러가 식어 있을 때 압력계는 1.2에서 1.8바 사이를 가리킨다. 그보다 낮으면 밸브를 열고 바늘이 오르기를 기다린다.

```sh
# not a heading
boilerctl --fill-valve open --until-bar 1.5
```
"""


def table(path: Path, *rows: dict[str, str]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, delimiter="\t", restval="")
        writer.writeheader()
        writer.writerows(rows)
    return path


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def row(repository: str, korean: str = "ko/", english: str = "en/", **more: str) -> dict[str, str]:
    return {"repository": repository, "commit": "c", "licence": "MIT", "korean": korean, "english": english, **more}


def test_a_page_is_read_as_sections_without_marks() -> None:
    first, second = sections(ENGLISH)
    assert first.title == second.title == "Boilers"
    assert (first.headings, second.headings) == ((), ("Pressure",))
    assert first.text.startswith("A boiler heats water in the cellar of the house.")
    assert second.text.endswith("# not a heading\nboilerctl --fill-valve open --until-bar 1.5")


def test_headings_stand_under_those_of_a_higher_level() -> None:
    page = "# A\n\none\n\n### B\n\ntwo\n\n## C\n\n<!-- unseen -->three\n"
    assert [(each.headings, each.text) for each in sections(page)] == [
        ((), ""),
        (("A",), "one"),
        (("A", "B"), "two"),
        (("A", "C"), "three"),
    ]


def test_sections_are_paired_by_headings_or_by_words_or_are_alone(tmp_path: Path) -> None:
    put(tmp_path / "both/ko/boiler.md", KOREAN)
    put(tmp_path / "both/en/boiler.md", ENGLISH)
    put(tmp_path / "both/ko/alone.md", KOREAN)
    put(tmp_path / "longer/ko/boiler.md", KOREAN)
    put(tmp_path / "longer/en/boiler.md", ENGLISH.replace("## Pressure", "## Noise\n\nIt hums.\n\n## Pressure"))
    put(tmp_path / "single/docs/boiler.md", KOREAN.replace("겨울에는", "한겨울에는"))
    put(tmp_path / "apart.ko/docs/boiler.md", KOREAN.replace("물건", "기계"))
    put(tmp_path / "apart/docs/boiler.md", ENGLISH)

    both = read_pages(table(tmp_path / "a.tsv", row("x/both")), tmp_path)
    assert [(each.korean.headings, each.english and each.english.headings) for each in both.pairs] == [
        ((), ()),
        (("압력",), ("Pressure",)),
    ]
    (longer,) = read_pages(table(tmp_path / "b.tsv", row("x/longer")), tmp_path).pairs
    assert longer.english is not None
    assert longer.english.headings == ("Pressure",)
    (single,) = read_pages(table(tmp_path / "c.tsv", row("x/single", "docs/", "")), tmp_path).pairs
    assert single.english is None
    assert single.korean.headings == ("압력",)
    apart = row("x/apart.ko", "docs/", "docs/", english_repository="x/apart", most="1")
    all_of_them = read_pages(table(tmp_path / "d.tsv", row("x/both"), row("x/single", "docs/", ""), apart), tmp_path)
    assert all_of_them.counts == {"x/both": 2, "x/single": 0, "x/apart.ko": 1}, "the same text once, and not more"
    assert all_of_them.sha256 != both.sha256


def test_a_notebook_is_read_by_its_cells(tmp_path: Path) -> None:
    cells = (
        '{"cells": [{"cell_type": "markdown", "source": ["## 압력\\n", "%s"]}, {"cell_type": "code", "source": "x"}]}'
    )
    put(tmp_path / "notes/ko/a.ipynb", cells % sections(KOREAN)[1].text.splitlines()[0])
    put(tmp_path / "notes/ko/broken.ipynb", "no notebook")
    (pair,) = read_pages(table(tmp_path / "a.tsv", row("x/notes", english="")), tmp_path).pairs
    assert pair.korean.text.endswith("\nx")


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(CheckoutMissing, match=r"a\.tsv:2: the passages are in x/none") as missing:
        read_pages(table(tmp_path / "a.tsv", row("x/none")), tmp_path)
    assert missing.value.hint == "check out x/none at c and name the folder it is in by --checkouts"
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadData, match="no page in Korean"):
        read_pages(table(tmp_path / "b.tsv", row("x/empty")), tmp_path)
    with pytest.raises(BadData, match=r"c\.tsv:2: a line of pages lacks a field"):
        read_pages(table(tmp_path / "c.tsv", row("x/empty", most="many")), tmp_path)
    (tmp_path / "d.tsv").write_text("\t".join(COLUMNS) + "\nx/empty\tc\n", encoding="utf-8")
    with pytest.raises(BadData, match=r"d\.tsv:2: a line of pages lacks a field"):
        read_pages(tmp_path / "d.tsv", tmp_path)


def made_pages(count: int) -> Pages:
    def passage(language: str, at: int) -> Passage:
        return Passage(
            f"{language} page", (f"{language} heading {at}",), f"{language} says first {at}. {language} says then {at}."
        )

    return Pages([Pair(passage("ko", at), passage("en", at) if at % 2 else None) for at in range(count)])


def test_a_section_is_asked_for_by_what_it_lacks_and_by_its_translation() -> None:
    batches = list(islice(PageBatches(made_pages(8), 4, seed=1), 4))
    across = 0
    for batch in batches:
        assert len(batch.passages) == 4
        assert {*batch.right} == {*range(4)}
        assert len({*batch.questions}) == len(batch.questions) == len(batch.right) == len(batch.barred)
        for question, right in zip(batch.questions, batch.right, strict=True):
            passage = batch.passages[right]
            assert question not in passage, "what was left out, or a text in the other language"
            assert question.split()[-1].rstrip(".") in passage, "of the same section"
            across += question[:2] not in passage
    assert across >= 8
    epoch = [passage for batch in batches[:2] for passage in batch.passages]
    assert {next(filter(str.isdigit, passage)) for passage in epoch} == {*"01234567"}, "each section once an epoch"
    again = list(islice(PageBatches(made_pages(8), 4, seed=1), 4))
    assert again == batches
    assert list(islice(PageBatches(made_pages(8), 4, seed=2), 4)) != batches


def test_a_heading_that_two_sections_share_asks_for_one_of_them() -> None:
    pages = made_pages(6)
    pages.pairs = [
        Pair(each.korean, Passage("en", ("Example",), f"en says first {at}. en says then {at}."))
        for at, each in enumerate(pages.pairs)
    ]
    for batch in islice(PageBatches(pages, 6, seed=3), 5):
        assert batch.questions.count("Example") <= 1


def test_the_table_names_repositories_whose_licence_allows_it() -> None:
    card = (TABLE.parent / "README.md").read_text(encoding="utf-8")
    with TABLE.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    assert rows
    for each in rows:
        assert {*each} == {*COLUMNS}
        assert each["licence"] in ("Apache-2.0", "MIT", "CC-BY-4.0")
        assert len(each["commit"]) == 40
        assert f"`{each['repository']}`" in card
        assert bool(each["english_repository"]) == bool(each["english_commit"])


@needs_torch
def test_a_training_learns_from_pages_too(tiny_training: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    filler = "가나다라마바사아자차카타파하 " * 5
    words = ("bad", "cab", "dab", "fed", "gag", "had")
    for at, word in enumerate(words):
        put(Path(f"repo/ko/{at}.md"), f"## {word}\n\n{word} {word} {filler}.\n")
        put(Path(f"repo/en/{at}.md"), f"## {word}\n\n{f'{word} ' * 30}.\n")
    table(Path("pages.tsv"), row("x/repo"))
    with_pages = [*tiny_training, "--pages", "pages.tsv", "--checkouts", ".", "--sections", "6"]
    assert trained([*with_pages, "--steps", "1"]) == 0
    before = recorded()["losses"][0]
    assert recorded()["pages"]["sections"] == {"x/repo": 6}
    assert trained([*with_pages, "--steps", "40"]) == 0
    after = recorded()["losses"][-1]
    assert after["pages_tokens"] < before["pages_tokens"]
    assert after["pages_vector"] < before["pages_vector"]
    assert after["tokens"] < before["tokens"]
    with pytest.raises(SystemExit):
        trained([*with_pages, "--judge"])
    assert "not a judge" in capsys.readouterr().err
