"""The record of a call by an agent."""

from __future__ import annotations

import json
from typing import Annotated, NamedTuple

from kb.domain.on_wire import Wire, on_wire


@on_wire("disclosure.v1")
class Disclosure(NamedTuple):
    """One call. `client` is the agent as it names itself; `places` are the citations, paths or ids it was given.

    `tokens` are those of the whole result; `outcome` is `given`, or the code of an error.
    """

    disclosed_at: str
    client: str
    tool: str
    asked: str
    places_json: Annotated[str, Wire("places", list[str], json.loads)]
    tokens: int
    outcome: str
