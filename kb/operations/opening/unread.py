"""The files that an ingest has met and not read yet: searches miss them, and say so."""

from __future__ import annotations

import json

from kb.domain.text import counted
from kb.operations.opening.base import ConnectedBase
from kb.operations.opening.jobs import is_ingesting
from kb.retrieve.notes import note
from kb.store import queries


def not_read_yet(base: ConnectedBase, question: str) -> str | None:
    """A note on how many files of which kinds are not read yet, without those hidden from the audience; None without.

    It is in the language of the question, and says whether they are being read. Raises: ConfigError.
    """
    if not base.index.state.waits:
        return None
    counts = queries.count_not_read_yet(base.db, hidden_json=_hidden_json(base))
    if not counts:
        return None
    files, kinds = sum(row.files for row in counts), ", ".join(f"{row.family} {row.files:,}" for row in counts)
    name = "being read" if is_ingesting(base.db) else "not read yet"
    return note(question, name, counted(files, "file"), f"{files:,}", kinds)


def _hidden_json(base: ConnectedBase) -> str:
    """The paths that the audience must not know of. Raises: ConfigError."""
    hides = base.hides_path
    hidden = [] if hides is None else [path for (path,) in queries.select_not_read_yet(base.db) if hides(path)]
    return json.dumps(hidden, ensure_ascii=False)
