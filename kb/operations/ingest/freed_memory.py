"""Memory that was freed, given back to the system: the C library keeps what lies between pieces still in use."""

from __future__ import annotations

import ctypes


def return_freed_memory() -> None:
    """Asks the C library to give back what it can; nothing where it has no such call (glibc alone has)."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
