"""`maxsim`, a function of kb's connections: the late interaction of a question with all candidates of a statement.

`maxsim(question, chunk_rowid, count, tokens)` is an aggregate: a JSON object of the scores by the chunks' numbers; NULL
of none.
"""

from __future__ import annotations

import json
from typing import Any

from kb.store.connection import Connection


def add_maxsim(db: Connection) -> None:
    """Makes the function known to a connection; what computes is loaded when it is first called."""
    db.create_aggregate_function("maxsim", _MaxSim, 4)


class _MaxSim:
    def __init__(self) -> None:
        self._question = b""
        self._rowids: list[object] = []
        self._passages: list[tuple[int, bytes]] = []

    def step(self, *values: Any) -> None:
        """Takes a passage."""
        self._question, rowid, count, tokens = values
        self._rowids.append(rowid)
        self._passages.append((count, tokens))

    def final(self) -> str | None:
        """The scores of all that were taken."""
        if not self._passages:
            return None
        from kb.embed.installed.late_interaction import late_scores

        return json.dumps(dict(zip(self._rowids, late_scores(self._question, self._passages), strict=True)))
