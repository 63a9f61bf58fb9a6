"""What the worst input costs: a line of 50 MB, in English and without a space, indexed and found.

kb reads Markdown of such a size only where `indexing.max_markdown_mb` allows it.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from time import perf_counter

from benchmarks.knowledge_base import knowledge_base
from benchmarks.measurement import Cell, Measurement, Table, Target
from kb.domain.search import SearchQuery
from kb.operations.opening.base import open_base
from kb.operations.search.search import search

LINE_BYTES = 50_000_000
_NEEDLE = "lighthouse"

LINES = {
    "words": "word " * (LINE_BYTES // 5) + _NEEDLE,
    "no space": "x" * LINE_BYTES + " " + _NEEDLE,
    "nested quotes": "> " * (LINE_BYTES // 2) + _NEEDLE,
}


def measure(data: Path | None = None) -> Measurement:
    """Seconds and chunks for each kind of line; the word at its very end must be found."""
    rows: list[tuple[Cell, ...]] = []
    found = 0
    for name, text in LINES.items():
        with knowledge_base(settings="[indexing]\nmax_markdown_mb = 64\n") as base:
            (base.root / "line.md").write_text(text, encoding="utf-8")
            start = perf_counter()
            report = base.ingest()
            seconds = perf_counter() - start
            with open_base(base.config) as session:
                hits = search(session, SearchQuery(_NEEDLE, "lexical", 1)).hits
            found += bool(hits) and hits[0].citation.to_uri() == "line.md#L1"
            with closing(sqlite3.connect(base.config.sqlite)) as db:
                (longest,) = db.execute("SELECT max(length(text)) FROM chunks").fetchone()
            rows.append((name, round(seconds, 1), report.counts.chunks_indexed, longest, report.counts.errors))
    return Measurement(
        "hostile",
        (Table("A line of 50 MB", ("line", "s", "chunks", "longest chunk, characters", "errors"), tuple(rows)),),
        (Target("lines whose last word is found", found, "≥", len(LINES)),),
        {"seconds": {str(row[0]): row[1] for row in rows}},
    )
