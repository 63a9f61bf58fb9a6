"""On what the figures were measured: machine and versions, no names or paths."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version

import apsw

from kb import __version__

LIBRARIES = ("apsw", "click", "kiwipiepy", "markdown-it-py")


def machine() -> str:
    """One line: the versions, the processor and its cores."""
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    return (
        f"kb {__version__}, {platform.python_implementation()} {platform.python_version()}, "
        f"SQLite {apsw.sqlite_lib_version()}, {libraries}; "
        f"{platform.system()} on {platform.machine()}, {_model()}, {os.cpu_count()} cores"
    )


def _model() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or "unknown processor"
