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
