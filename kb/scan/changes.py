"""Reports when something below a folder has changed: by notices of the system, or by looking again and again."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from kb.errors import KbError
from kb.scan.walk import concern_of

# Changes are told once none has come for so long, at the latest after the other.
_QUIET_MS = 500
_AT_LATEST_MS = 5_000

_LOOKED_AGAIN_MS = 10_000
"""How often it is checked that the folder is still the same one."""

_POLLED_EVERY_MS = 5_000
_GONE_S = 5

# File systems on other machines, whose changes the system does not tell of.
_REMOTE = ("9p", "afs", "ceph", "cifs", "fuse.rclone", "fuse.sshfs", "nfs", "nfs4", "prl_fs", "smb3", "smbfs", "vboxsf")

How = Literal["notices", "polling", "gone"]


def changes(
    root: Path,
    *,
    include: Sequence[str],
    exclude: Sequence[str],
    own: Sequence[Path],
    polling: bool = False,
    tell: Callable[[How], None],
) -> Iterator[None]:
    """Yields after changes that a walk of `root` may notice, for ever; ignores changes below kb's `own` folders.

    `tell` is called with how it watches, and again when that changes: by `polling` if the folder is on another machine
    or the system has no more notices to give; `gone` without the folder. It yields when the folder is back.
    """
    polling = polling or is_remote(root)
    while True:
        try:
            state = _identity(root)
            tell("polling" if polling else "notices")
            yield None
            yield from _until_replaced(root, state, _watched(root, include, exclude, own), polling)
        except FileNotFoundError:
            tell("gone")
            while not root.is_dir():
                time.sleep(_GONE_S)
        except OSError:  # inotify: no more watches
            if polling:
                raise
            polling = True


def _until_replaced(
    root: Path, state: tuple[int, int], concerns: Callable[[str], bool], polling: bool
) -> Iterator[None]:
    from watchfiles import watch

    batches = watch(
        root,
        watch_filter=lambda _, path: concerns(path),
        debounce=_AT_LATEST_MS,
        step=_QUIET_MS,
        rust_timeout=_LOOKED_AGAIN_MS,
        yield_on_timeout=True,
        force_polling=polling,
        poll_delay_ms=_POLLED_EVERY_MS,
        ignore_permission_denied=True,
        raise_interrupt=False,
    )
    for batch in batches:
        if _identity(root) != state:
            return
        if batch:
            yield None


def _watched(root: Path, include: Sequence[str], exclude: Sequence[str], own: Sequence[Path]) -> Callable[[str], bool]:
    may_matter = concern_of(root, include=include, exclude=exclude)
    folders = tuple(os.path.join(folder, "") for folder in own)

    def concerns(path: str) -> bool:
        if f"{path}/".startswith(folders):
            return False
        try:
            return may_matter(path)
        except (KbError, OSError):  # a walk says what it is
            return True

    return concerns


def _identity(root: Path) -> tuple[int, int]:
    found = os.stat(root)
    return found.st_dev, found.st_ino


def is_remote(root: Path, mounts: Path = Path("/proc/self/mountinfo")) -> bool:
    """Whether a folder is on another machine's file system, as far as the system tells."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return False
    above = os.path.join(os.path.realpath(root), "")
    kinds: dict[str, str] = {}
    for line in lines:
        before, _, after = line.partition(" - ")
        point = before.split(" ")[4].replace("\\040", " ")
        if above.startswith(os.path.join(point, "")):
            kinds[point] = after.partition(" ")[0]
    return kinds.get(max(kinds, key=len, default=""), "") in _REMOTE
