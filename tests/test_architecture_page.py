"""docs/architecture.md and docs/adding.md: what they name is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
PAGE = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["architecture.md", "adding.md"])
def test_every_file_and_folder_named_exists(page: str) -> None:
    text = (REPOSITORY / "docs" / page).read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:[\w*]+/)+[\w.*]*|[\w/]+\.(?:py|sql))`", text))
    missing = [
        path for path in named if not any(list(base.glob(path)) for base in (REPOSITORY, REPOSITORY / "kb") if path)
    ]
    assert len(named) > 15
    assert missing == []


def test_every_file_of_the_drawn_ways_exists() -> None:
    drawn = {path for part in PAGE.split("```")[1::2] for path in re.findall(r"[\w*]+(?:/[\w*]+)+\.(?:py|sql)", part)}
    missing = [path for path in drawn if not any(list(base.glob(path)) for base in (REPOSITORY, REPOSITORY / "kb"))]
    assert len(drawn) > 40
    assert missing == []


def test_every_room_of_the_package_stands_in_the_table() -> None:
    table = PAGE[PAGE.index("## The rooms") : PAGE.index("rooms have rooms inside")]
    rooms = set(re.findall(r"`(\w+)`", re.sub(r"\|[^|]*\|$", "", table, flags=re.MULTILINE)))
    there = {path.stem for path in (REPOSITORY / "kb").iterdir() if not path.name.startswith(("_", "py.typed"))}
    assert there == rooms


def test_every_inner_room_stands_in_its_table() -> None:
    for room in ("operations", "extract", "store", "cli", "wire", "domain"):
        table = PAGE[PAGE.index(f"| inside `{room}` |") :].partition("\n\n")[0]
        rooms = {name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])}
        there = {path.stem for path in (REPOSITORY / "kb" / room).iterdir() if not path.name.startswith("_")}
        assert there == rooms
