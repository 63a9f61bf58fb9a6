"""Finds golden questions and stored answers whose cited lines have changed: `kb eval impact`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from kb.domain.citations import Citation, LineCitation
from kb.domain.results.answers import Standing
from kb.domain.results.evaluation import Impact
from kb.errors import NotFound
from kb.eval.golden import read_golden
from kb.operations.answers.verify import look_up, verify
from kb.operations.evaluate.question import CitedFiles, file_hash
from kb.operations.opening.base import Base
from kb.store import queries
from kb.store.connection import Connection


def impact(base: Base, suite: Path) -> list[Impact]:
    """The golden questions and stored answers whose cited lines moved, changed or vanished.

    Questions are compared with the newest complete run of the suite, answers with their quotations.
    Raises: NotFound where there is no run.
    """
    with base.reading() as opened:
        found = list(_questions(opened.db, suite, opened.config.workspace_root))
    return found + list(_answers(base))


def impact_now(base: Base, suite: Path) -> list[Impact]:
    """As `impact`, but only the answers where there is no golden set or no run of it: for the page."""
    if suite.exists():
        try:
            return impact(base, suite)
        except NotFound:
            pass  # no run has recorded the cited lines
    return list(_answers(base))


def _questions(db: Connection, suite: Path, root: Path) -> Iterator[Impact]:
    golden = read_golden(suite)
    runs = [run for run in queries.select_runs(db) if run.suite == golden.suite and run.finished_at]
    if not runs:
        raise NotFound(f"no run of {golden.suite} tells what its lines held", "kb eval run remembers them")
    asked = {question.id for question in golden.questions}
    files = CitedFiles()
    for row in queries.select_results(db, run_id=runs[0].run_id):
        if row.query_id not in asked:
            continue
        result = json.loads(row.result_json)
        for place in result["places"]:
            standing, cited, now_at = _standing(place, files.lines(str(root / place["path"])))
            if standing != "stands":
                yield Impact("question", row.query_id, result["query"], cited, standing, now_at)


def _standing(place: dict[str, str | int | None], lines: list[str]) -> tuple[Standing, str, str | None]:
    """The state of an expected place, its citation, and its present place."""
    path, text = str(place["path"]), str(place["text"])
    if place["start"] is None:
        standing: Standing = "missing" if not lines else "stands" if file_hash(lines) == text else "changed"
        return standing, path, path if lines else None
    cited = LineCitation(path, int(place["start"]), int(place["end"] or 0))
    if not lines:
        return "missing", cited.to_uri(), None
    found = look_up(text, cited, "\n".join(lines))
    return found.standing, cited.to_uri(), found.now_at.to_uri() if found.now_at else None


def _answers(base: Base) -> Iterator[Impact]:
    for check in verify(base, None, every=True):
        for quote in check.quotes:
            if quote.standing != "stands":
                now_at: Citation | None = quote.now_at
                at = now_at.to_uri() if now_at else None
                yield Impact("answer", check.trace_id, check.question, quote.cited.to_uri(), quote.standing, at)
