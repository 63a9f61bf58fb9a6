"""What the questions of a golden set should find in this knowledge base, by passage."""

from __future__ import annotations

import json
from collections.abc import Iterator

from kb.eval.expectations import Expected, Passage, resolve
from kb.eval.golden import GoldenSet
from kb.store import queries
from kb.store.connection import Connection


def expected_passages(db: Connection, golden: GoldenSet) -> dict[str, Expected]:
    """What each question expects of this index, by question id.

    Raises: GoldenInvalid naming, with their lines, the expectations that the index cannot meet.
    """
    return resolve(golden, _passages(db, golden))


def _passages(db: Connection, golden: GoldenSet) -> Iterator[Passage]:
    """The passages of every document that the golden set names."""
    expectations = [expectation for question in golden.questions for expectation in question.expected]
    ids = [named for expectation in expectations if (named := expectation.doc_id or expectation.chunk_id)]
    paths = {expectation.path for expectation in expectations if expectation.path}
    paths |= {row.workspace_path for row in queries.select_paths_of_ids(db, ids_json=json.dumps(ids))}
    for row in queries.select_passages_at(db, paths_json=json.dumps(sorted(paths))):
        lines = (row.line_start, row.line_end) if row.line_start and row.line_end else None
        yield Passage(row.workspace_path, row.source_path, row.doc_id, row.chunk_id, lines)
