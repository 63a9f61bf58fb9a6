"""Where the installed models lie, for the benchmarks that need them, and what those benchmarks keep there."""

from __future__ import annotations

import os
from pathlib import Path

CACHE = ".benchmark-cache"
"""Below the models' directory: vectors that an earlier run made."""


def installed_models() -> Path:
    """The directory of the installed models, as KB_TEST_MODEL_DIR names it; exits where it does not."""
    directory = os.environ.get("KB_TEST_MODEL_DIR")
    if not directory:
        raise SystemExit("KB_TEST_MODEL_DIR must name the directory of the installed models")
    return Path(directory).absolute()
