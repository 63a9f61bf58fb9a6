"""What questions about nothing in these notes reach in them."""

from __future__ import annotations

from typing import NamedTuple

from kb.store.connection import Connection
from kb.store.sqlfile import sql


class BackgroundReached(NamedTuple):
    """What questions of one language reach in the passages of another: mean and spread of the best cosines."""

    channel: str
    lang: str
    mean: float
    spread: float


@sql("answer/select_background.sql")
def select_background(db: Connection, *, query_lang: str) -> list[BackgroundReached]: ...
