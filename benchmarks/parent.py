"""A benchmark's process ends with the one that waits for it."""

from __future__ import annotations

import os
import time
from threading import Thread


def end_with_parent(parent: int) -> None:
    """In the benchmark's process: ends it once its parent is gone, however that ended."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    Thread(target=watch, daemon=True).start()
