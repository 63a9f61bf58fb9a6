"""disclosure.v1: what an agent was given by one call; a line of `kb audit list --json`."""

from __future__ import annotations

import json
from typing import Literal

from typing_extensions import TypedDict

from kb.domain.results.disclosure import Disclosure


class DisclosureV1(TypedDict):
    """One call. `client` is the agent as it names itself; `places` are the citations, paths or ids it was given.

    `tokens` are those of the whole result; `outcome` is `given`, or the code of an error.
    """

    schema_version: Literal["disclosure.v1"]
    disclosed_at: str
    client: str
    tool: str
    asked: str
    places: list[str]
    tokens: int
    outcome: str


def disclosure_v1(given: Disclosure) -> DisclosureV1:
    """The wire form of a recorded call."""
    return {
        "schema_version": "disclosure.v1",
        "disclosed_at": given.disclosed_at,
        "client": given.client,
        "tool": given.tool,
        "asked": given.asked,
        "places": json.loads(given.places_json),
        "tokens": given.tokens,
        "outcome": given.outcome,
    }
