"""What an agent was given."""

from __future__ import annotations

from typing import NamedTuple


class Disclosure(NamedTuple):
    """One call: who asked by which tool, where what was given stands, and its tokens.

    `outcome` is `given`, or the code of the error that was given instead. `places_json` is a JSON array.
    """

    disclosed_at: str
    client: str
    tool: str
    asked: str
    places_json: str
    tokens: int
    outcome: str
