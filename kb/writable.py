"""Read-only mode: `kb --read-only`, or KB_READ_ONLY in the environment, which the processes that kb starts inherit.

In it the knowledge base, its models, settings and golden questions do not change: a command that would write them
fails. Reports and pages that the user asks for by file name are still written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from kb.errors import StoreReadOnly
from kb.private import READ_ONLY, is_read_only


def require_writable(what: str = "the knowledge base") -> None:
    """Raises: StoreReadOnly in read-only mode."""
    if is_read_only():
        raise StoreReadOnly(f"read-only mode: {what} is not changed", f"leave out --read-only, or unset {READ_ONLY}")


@contextmanager
def read_only() -> Iterator[None]:
    """Read-only mode until the block ends."""
    before = os.environ.get(READ_ONLY)
    os.environ[READ_ONLY] = "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(READ_ONLY, None)
        else:
            os.environ[READ_ONLY] = before
