"""Temporary folders of engines, removed whatever ends their process: by it, by its parent, or by the next ingest.

A folder belongs to the process that holds the lock on the file `lock` in it. Where nobody does, it was left behind.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path

# tesseract's pictures and tables lie in folders that begin so, whoever made them.
PREFIX = "kb-ocr-"

_LOCK = "lock"
# A folder this old without a lock was left by a process that took none; a younger one may be about to be locked.
_UNLOCKED_AGE_S = 3600


def make_scratch() -> Path:
    """A new folder for one worker, in the system's folder for temporary files."""
    return Path(tempfile.mkdtemp(prefix=PREFIX))


def own_scratch(scratch: Path) -> int:
    """Takes the folder for this process: all its temporary files go there. Returns the descriptor of the lock."""
    tempfile.tempdir = os.environ["TMPDIR"] = str(scratch)
    lock = os.open(scratch / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def remove_scratch(scratch: Path) -> None:
    """Removes the folder and what is in it; what cannot be removed stays."""
    shutil.rmtree(scratch, ignore_errors=True)


def remove_left_behind() -> None:
    """Removes the folders of this user's processes that were killed together with their parents."""
    for scratch in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if _is_left_behind(scratch):
            remove_scratch(scratch)


def _is_left_behind(scratch: Path) -> bool:
    try:
        status = scratch.lstat()
        if status.st_uid != os.getuid() or not scratch.is_dir() or scratch.is_symlink():
            return False
        lock = os.open(scratch / _LOCK, os.O_RDWR)
    except FileNotFoundError:
        return time.time() - status.st_mtime > _UNLOCKED_AGE_S
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True
