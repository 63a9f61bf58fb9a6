"""The regular expressions of a file in `data/`, by their kind: one a line, behind its kind and a tab."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from pathlib import Path

_DATA = Path(__file__).with_name("data")
_NAMED = re.compile(r"<([A-Z_]+)>")


@functools.cache
def patterns(name: str) -> Mapping[str, re.Pattern[str]]:
    """The expressions of `data/<name>.tsv`, those of a kind as alternatives, letter case aside.

    A line whose kind stands in angle brackets gives a part its name, for the lines below it.
    """
    parts: dict[str, str] = {}
    found: dict[str, list[str]] = {}
    for line in (_DATA / f"{name}.tsv").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        kind, _, pattern = line.partition("\t")
        pattern = _NAMED.sub(lambda part: parts[part[1]], pattern)
        if named := _NAMED.fullmatch(kind):
            parts[named[1]] = pattern
        else:
            found.setdefault(kind, []).append(pattern)
    return {kind: re.compile("|".join(each), re.IGNORECASE) for kind, each in found.items()}
