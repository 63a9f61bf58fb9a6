"""lancedb as kb imports it: in half the time.

lancedb imports the client of a REST service, whose 366 methods pydantic prepares to check their arguments. kb calls
none of them, so each is prepared when it is first called.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from threading import Lock
from types import ModuleType
from typing import Any

_loading = Lock()


def lancedb_library() -> ModuleType:
    """The module `lancedb`."""
    import pydantic

    with _loading:
        checked_at_once = pydantic.validate_call

        def checked_when_called(function: Callable[..., Any]) -> Callable[..., Any]:
            prepared = functools.cache(lambda: checked_at_once(function))
            return functools.wraps(function)(lambda *args, **options: prepared()(*args, **options))

        pydantic.validate_call = checked_when_called  # type: ignore[assignment]
        try:
            import lancedb
        finally:
            pydantic.validate_call = checked_at_once
    return lancedb
