"""Reads the last commit of each file in a checkout by one `git log`.

The repository may be a stranger's: what its configuration could run (pager, hooks, signatures, external diffs, fetches
of missing objects) is turned off, and git itself refuses one that is another user's (`safe.directory`). Of a shallow
clone the oldest commits say nothing, since they seem to have made every file.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Timer
from typing import NamedTuple

from kb.scan.read import shown

_MOST_SECONDS = 20.0
_MOST_BYTES_OF_NAME = 1_000_000


class Commit(NamedTuple):
    """When a file was committed (RFC 3339 UTC, with microseconds), and the author's name."""

    at: str
    by: str


class Commits(NamedTuple):
    """The last commits by the paths of files below the checkout, and why there may be more, if so."""

    found: dict[str, Commit]
    fault: str | None


def last_commits(top: str, wanted: set[str], *, most_seconds: float = _MOST_SECONDS) -> Commits | None:
    """The last commits of the `wanted` files, paths below the checkout `top`; None where git is not installed or fails.

    The newest commits come first, and reading ends when all files are found: what a limit leaves out is older.
    """
    git = shutil.which("git")
    if git is None:
        return None
    mark = secrets.token_hex(16)
    found: dict[str, Commit] = {}
    left = set(wanted)
    late = Event()
    with subprocess.Popen(
        [git, *_SAFELY, "-C", top, "log", *_OPTIONS, f"--format={mark}%H %ct %an", "HEAD", "--"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_environment(top),
    ) as process:

        def stop() -> None:
            late.set()
            process.kill()

        timer = Timer(most_seconds, stop)
        timer.start()
        try:
            boundary, commit = _boundary(top), None
            for name in _names(process):
                if name.startswith(mark):
                    commit_id, seconds, author = name.removeprefix(mark).split(" ", 2)
                    commit = None if commit_id in boundary else Commit(_moment(seconds), shown(author))
                elif commit is not None and (path := _path(name, left)) is not None:
                    found[path] = commit
                    left.discard(path)
                    if not left:
                        process.kill()
                        break
            else:
                process.wait()
        finally:
            timer.cancel()
            process.kill()
    if late.is_set():
        return Commits(found, f"its history is long: the newest commits alone were read, for {most_seconds:g} s")
    return Commits(found, None) if not left or process.returncode == 0 else None


_SAFELY = (
    "--no-pager",
    "--no-optional-locks",
    "--no-replace-objects",
    "--literal-pathspecs",
    *("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "protocol.allow=never"),
)
_OPTIONS = (
    *("-z", "--name-only", "--no-renames", "--no-merges", "--no-color", "--no-decorate", "--no-show-signature"),
    *("--no-ext-diff", "--no-textconv", "--no-notes", "--no-mailmap", "--ignore-submodules=all", "-O/dev/null"),
)


def _environment(top: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {
        **kept,
        "GIT_CEILING_DIRECTORIES": os.path.dirname(top),
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


def _names(process: subprocess.Popen[bytes]) -> Iterator[str]:
    """What is between the NUL bytes of its output."""
    rest = b""
    while process.stdout is not None and (data := os.read(process.stdout.fileno(), 1 << 16)):
        *names, rest = (rest + data).split(b"\0")
        for name in names:
            yield name.decode("utf-8", "surrogateescape")
        if len(rest) > _MOST_BYTES_OF_NAME:
            return


def _path(name: str, wanted: set[str]) -> str | None:
    """The wanted path of that name; the first one behind a commit has a line break before it."""
    return name if name in wanted else name[1:] if name[:1] == "\n" and name[1:] in wanted else None


def _moment(seconds: str) -> str:
    """RFC 3339, UTC; "" for what is no time."""
    with suppress(ValueError, OverflowError, OSError):
        moment = datetime.fromtimestamp(int(seconds), UTC)
        return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
    return ""


def _boundary(top: str) -> frozenset[str]:
    """The commits of a shallow clone whose parents were not fetched."""
    with suppress(OSError):
        return frozenset(Path(top, ".git", "shallow").read_text(encoding="ascii", errors="replace").split())
    return frozenset()
