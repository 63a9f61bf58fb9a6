"""What llama-cpp-python's C code logs is dropped: an error says what there is to say."""

from __future__ import annotations

import ctypes
from functools import cache


@cache
def silence() -> object:
    """The callback that drops it; the C code holds on to it, so it must outlive every model."""
    import llama_cpp

    drop: object = llama_cpp.llama_log_callback(lambda level, text, user_data: None)
    llama_cpp.llama_log_set(drop, ctypes.c_void_p(0))
    return drop
