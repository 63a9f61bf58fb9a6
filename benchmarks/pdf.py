"""Pages a second read from PDFs with a text layer, against bare pymupdf text extraction of the same files.

Both in one process, in turns, in CPU time. kb's side is the whole step: layout, tables, text quality, JSON.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import process_time

from benchmarks.measurement import Measurement, Table, Target

FIXTURES = Path(__file__).parents[1] / "fixtures/media/pdf"
LEAST_RATIO = 0.6
ROUNDS = 7
COPIES = 25
"""How often a fixture's pages are repeated: the fixtures are small, and opening a file is not what is measured."""


def measure(data: Path | None) -> Measurement:
    """The two speeds of each PDF with a text layer, and their ratio over all pages; `data` may hold more PDFs."""
    import pymupdf

    from kb.domain.derived import ExtractSettings, StepJob
    from kb.domain.kinds import PDF
    from kb.extract.pdf.text import derive

    def bare(content: bytes) -> None:
        with pymupdf.open(stream=content, filetype="pdf") as pdf:
            for page in pdf:
                page.get_text()

    def read(content: bytes) -> None:
        derive(StepJob(content, PDF, {}, ExtractSettings(), lambda progress: None))

    rows: list[tuple[str | int | float, ...]] = []
    bare_s = read_s = 0.0
    files = [path for path in sorted(FIXTURES.glob("*.pdf")) if not path.name.startswith("scan")]
    files += sorted(data.glob("*.pdf")) if data is not None else []
    for path in files:
        content, pages = _many_pages(path)
        one, other = _in_turns(partial(bare, content), partial(read, content))
        bare_s, read_s = bare_s + one, read_s + other
        rows.append((path.name, pages, round(pages / one), round(pages / other), round(one / other, 2)))
    ratio = round(bare_s / read_s, 2)
    return Measurement(
        "pdf",
        (Table("Pages a second", ("file", "pages", "pymupdf", "kb", "ratio"), tuple(rows)),),
        (Target("pages/s against bare pymupdf, all files", ratio, "≥", LEAST_RATIO),),
        {"ratio": ratio},
    )


def _many_pages(path: Path) -> tuple[bytes, int]:
    """A PDF of the file's pages, several times over where they are few."""
    import pymupdf

    with pymupdf.open(path) as source, pymupdf.open() as target:
        for _ in range(COPIES if source.page_count < 100 else 1):
            target.insert_pdf(source)
        return target.tobytes(garbage=3, deflate=True), target.page_count


def _in_turns(one: Callable[[], None], other: Callable[[], None]) -> tuple[float, float]:
    """The median CPU seconds of both, run by turns; the first turn of each does not count."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS + 1):
        for run, taken in zip((one, other), seconds, strict=True):
            start = process_time()
            run()
            taken.append(process_time() - start)
    return statistics.median(seconds[0][1:]), statistics.median(seconds[1][1:])
