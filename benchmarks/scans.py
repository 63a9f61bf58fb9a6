"""Characters read wrongly on made-up scans in columns, page by page: kb beside bare tesseract, on two families."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from PIL import Image

from benchmarks.measurement import Measurement, Table, Target
from benchmarks.ocr import edits
from benchmarks.scanned_pages import FAMILIES, Family, ScannedPage, pages
from kb.extract.ocr.geometry import IDENTITY
from kb.extract.ocr.recognise import recognise

LANGUAGES = "kor+eng"
TIME_LIMIT = 1.15


class Row(NamedTuple):
    """One page: how long its text is, the characters that are wrong, and CPU seconds."""

    name: str
    characters: int
    ours: int
    bare: int
    ours_cpu_s: float
    bare_cpu_s: float

    @property
    def is_worse(self) -> bool:
        """Whether kb reads more characters wrongly."""
        return self.ours > self.bare


def measure(data: Path | None = None) -> Measurement:
    """A row a page, the worse ones marked, and what each family takes of the processor beside bare tesseract."""
    measured = {name: [_row(page) for page in pages(family)] for name, family in FAMILIES.items()}
    targets = []
    for name, rows in measured.items():
        both = [row for row in rows if row.bare < row.characters / 2]  # bare tesseract leaves out most of some pages
        ratio = sum(row.ours_cpu_s for row in both) / sum(row.bare_cpu_s for row in both)
        targets += [
            Target(f"{name}: pages read worse than by bare tesseract", sum(row.is_worse for row in rows), "≤", 0),
            Target(
                f"{name}: CPU time, times bare tesseract's where it reads the page", round(ratio, 3), "≤", TIME_LIMIT
            ),
        ]
    return Measurement(
        name="scans",
        tables=tuple(_table(name, FAMILIES[name], rows) for name, rows in measured.items()),
        targets=tuple(targets),
        figures={name: [list(row) for row in rows] for name, rows in measured.items()},
    )


def _table(name: str, family: Family, rows: list[Row]) -> Table:
    cells = tuple(
        (
            row.name,
            row.characters,
            row.ours,
            row.bare,
            round(row.ours / row.characters, 4),
            round(row.bare / row.characters, 4),
            "worse" if row.is_worse else "",
        )
        for row in rows
    )
    columns = ("page", "characters", "wrong, kb", "wrong, bare", "error, kb", "error, bare", "kb is")
    return Table(f"The {name}: {family.pixels_per_inch} pixels an inch", columns, cells)


def _row(page: ScannedPage) -> Row:
    ours, ours_cpu_s = _timed(lambda: recognise(page.image, IDENTITY, page.image.size, LANGUAGES).joined)
    bare, bare_cpu_s = _timed(lambda: read_bare(page.image))
    row = Row(
        page.name,
        len(" ".join(page.text.split())),
        edits(ours, page.text),
        edits(bare, page.text),
        round(ours_cpu_s, 2),
        round(bare_cpu_s, 2),
    )
    print(*row, "worse" if row.is_worse else "", file=sys.stderr, flush=True)
    return row


def read_bare(image: Image.Image) -> str:
    """What the program reads in an image when nothing is done for it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "page.png"
        image.save(path)
        command = ["tesseract", str(path), "-", "-l", LANGUAGES]
        environment = {**os.environ, "OMP_THREAD_LIMIT": "1"}
        return subprocess.run(command, check=True, capture_output=True, env=environment, encoding="utf-8").stdout


def _timed(read: Callable[[], str]) -> tuple[str, float]:
    """What was read, and the CPU seconds of this process and its children."""
    before = os.times()
    text = read()
    return text, sum(os.times()[:4]) - sum(before[:4])
