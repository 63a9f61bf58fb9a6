"""Cursors: where a list goes on, in a text that a caller hands back. Each names the corpus it counts in.

A cursor gives nothing that could not be asked for without it: it holds a position, never a permission.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any
from zlib import crc32

from kb.errors import InvalidCursor, StaleCursor

MOST_CHARS = 20_000


def write_cursor(kind: str, revision: int, state: Mapping[str, Any]) -> str:
    """The cursor of one kind of list at a corpus revision."""
    body = json.dumps({"k": kind, "r": revision, **state}, ensure_ascii=False, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(crc32(body).to_bytes(4) + body).decode().rstrip("=")


def read_cursor(kind: str, revision: int, cursor: str) -> dict[str, Any]:
    """The state that a cursor of that kind holds.

    Raises: InvalidCursor for what is none, StaleCursor where the corpus has changed since.
    """
    state = _state(cursor)
    if state is None or state.get("k") != kind or not isinstance(state.get("r"), int):
        raise InvalidCursor(
            f"this is no cursor of {kind}", f"hand back next_cursor of the last {kind}, whole and unchanged"
        )
    if state["r"] != revision:
        raise StaleCursor(
            "the corpus has changed since this cursor was given",
            f"{kind} again without a cursor",
        )
    return state


def _state(cursor: str) -> dict[str, Any] | None:
    if len(cursor) > MOST_CHARS:
        return None
    try:
        data = base64.b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        if crc32(data[4:]).to_bytes(4) != data[:4]:
            return None
        state = json.loads(data[4:])
    except (ValueError, binascii.Error, RecursionError):
        return None
    return state if isinstance(state, dict) else None
