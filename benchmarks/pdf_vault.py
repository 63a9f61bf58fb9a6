"""Whether an ingest of very many large PDFs keeps its memory: 10 GB of them against 1 GB, and a second run of each.

Each PDF has 20 pages of text, on the last of them a picture of noise, which nothing makes smaller. No page is without
text, so nothing is recognised; nothing is embedded. The folder and its copies take twice their size on the disk.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pymupdf

from benchmarks.generated_notes import english_sentences
from benchmarks.knowledge_base import knowledge_base
from benchmarks.measurement import Measurement, Table, Target
from benchmarks.processes import main_command, watched
from benchmarks.progress import step

FEW, MANY = 100, 1_000
PAGES, LINES = 20, 40
FILE_BYTES = 10_000_000
MOST_TIMES_FEW = 1.3


class Vault(NamedTuple):
    """One folder of PDFs: its size, and the peak memory and the seconds of a first and of a second ingest."""

    gigabytes: float
    first_mb: float
    first_s: float
    second_mb: float
    second_s: float


def measure(data: Path | None = None, *, few: int = FEW, many: int = MANY) -> Measurement:
    """Peak memory of all processes of an ingest, and how long it takes."""
    vaults = {count: _ingested(count) for count in (few, many)}
    small, large = vaults.values()
    return Measurement(
        "pdf_vault",
        (
            Table(
                f"PDFs of {FILE_BYTES // 1_000_000} MB and {PAGES} pages, all processes",
                ("files", "GB", "first ingest MB", "s", "MB/s", "second ingest MB", "s", "files/s"),
                tuple(
                    (
                        *(count, round(vault.gigabytes, 1), vault.first_mb, vault.first_s),
                        *(round(1000 * vault.gigabytes / vault.first_s), vault.second_mb, vault.second_s),
                        round(count / vault.second_s),
                    )
                    for count, vault in vaults.items()
                ),
            ),
        ),
        (Target("first ingest, peak MB, large / small", _times(large.first_mb, small.first_mb), "≤", MOST_TIMES_FEW),),
        {str(count): vault._asdict() for count, vault in vaults.items()},
    )


def _times(large: float, small: float) -> float:
    return round(large / small, 2)


def _ingested(count: int) -> Vault:
    with knowledge_base() as base:
        with step(f"{count:,} PDFs, written"):
            total = write_pdfs(base.root, count)
        command = main_command(base.config_path, "ingest", "--no-embed", "--summary-only")
        with step(f"{count:,} PDFs, first ingest"):
            first = watched(command)
        with step(f"{count:,} PDFs, second ingest"):
            second = watched(command)
    return Vault(total / 1e9, first.all_mb, first.seconds, second.all_mb, second.seconds)


def write_pdfs(folder: Path, count: int) -> int:
    """Writes the PDFs, none like another; returns their bytes."""
    noise, sentences = _noise(), english_sentences()
    total = 0
    for number in range(count):
        with pymupdf.open() as document:
            for page_number in range(PAGES):
                page = document.new_page()
                lines = [f"PDF {number}, page {page_number + 1}", *islice(sentences, LINES)]
                page.insert_text((50, 60), lines, fontsize=9)
            page.insert_image(pymupdf.Rect(350, 550, 550, 750), stream=noise)
            path = folder / f"{number}.pdf"
            document.save(path)
        total += path.stat().st_size
    return total


def _noise() -> bytes:
    """A JPEG of noise, of `FILE_BYTES`."""
    random = np.random.default_rng(7)
    side = 64
    while True:
        pixels = random.integers(0, 256, (side, side, 3), dtype=np.uint8)
        picture: bytes = pymupdf.Pixmap(pymupdf.csRGB, side, side, pixels.tobytes(), False).tobytes("jpeg")
        if len(picture) >= FILE_BYTES:
            return picture
        side = int(side * max(1.02, (FILE_BYTES / len(picture)) ** 0.5))
