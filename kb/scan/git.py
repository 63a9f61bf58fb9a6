"""Reads the repository around a folder: its name, branch and commit from its `.git`, last commits by one `git log`.

A `.git` is a folder, or in worktrees and submodules a file that names one; a worktree's folder names in `commondir` the
folder of the branches. Damaged or unknown data is a fault; the rest is still returned.

The repository may be a stranger's: what its configuration could run (pager, hooks, signatures, external diffs, fetches
of missing objects) is turned off, and git itself refuses one that is another user's (`safe.directory`). Of a shallow
clone the oldest commits say nothing, since they seem to have made every file.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Timer
from typing import NamedTuple

from kb.domain.symbols import Repository
from kb.scan.read import shown

_HEX = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
_REF = re.compile(r"refs/[^\0\s~^:?*\[\\]+\Z")
_REMOTE_URL = re.compile(r'\[remote "origin"\][^\[]*?^\s*url\s*=\s*(\S+)\s*$', re.MULTILINE | re.DOTALL)
_MOST_BYTES = 20_000_000
_HEADS = "refs/heads/"
_MOST_SECONDS = 20.0
_MOST_BYTES_OF_NAME = 1_000_000


def top_of(folder: str) -> str | None:
    """The nearest folder at or above the absolute path `folder` that has a `.git`; None outside of any repository."""
    while not os.path.lexists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return folder


def read_repository(top: str) -> tuple[Repository, str | None]:
    """The repository whose checkout is the folder `top`, and the fault in its data, if any."""
    name = os.path.basename(top) or top
    try:
        git_dir, common = _folders(top)
        name = _name(common, name)
        branch, commit = _head(git_dir, common)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return Repository(shown(top), shown(name), None, None), shown(str(reason))
    return Repository(shown(top), shown(name), branch, commit), None


def commit_at(top: str) -> str | None:
    """The current commit of the checkout at `top`, in hex; None without one or where it cannot be read."""
    try:
        return _head(*_folders(top))[1]
    except (OSError, ValueError):
        return None


def _folders(top: str) -> tuple[str, str]:
    """The checkout's own git folder, and the one with the branches and configuration: the repository's for a worktree.

    Raises: OSError, ValueError.
    """
    git_dir = os.path.join(top, ".git")
    if not os.path.isdir(git_dir):
        key, _, named = _read(git_dir).partition(":")
        if key != "gitdir" or not named.strip():
            raise ValueError(".git is a file that names no folder")
        git_dir = os.path.normpath(os.path.join(top, named.strip()))
        if not os.path.isdir(git_dir):
            raise ValueError(f".git names {git_dir}, which is not there")
    try:
        named = _read(os.path.join(git_dir, "commondir")).strip()
    except FileNotFoundError:
        return git_dir, git_dir
    return git_dir, os.path.normpath(os.path.join(git_dir, named))


def _head(git_dir: str, common: str) -> tuple[str | None, str | None]:
    """The checked out branch and its commit, either may be None. Raises: ValueError for a HEAD that names neither."""
    head = _read(os.path.join(git_dir, "HEAD")).strip()
    if _HEX.match(head):
        return None, head
    ref = head.removeprefix("ref:").strip()
    if not head.startswith("ref:") or not _REF.match(ref) or ".." in ref:
        raise ValueError("HEAD names no branch and no commit")
    branch = ref.removeprefix(_HEADS)
    if branch == ".invalid":
        raise ValueError("its branches are kept as a reftable, which is not read here")
    for folder in dict.fromkeys((git_dir, common)):
        try:
            commit = _read(os.path.join(folder, *ref.split("/"))).strip()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            continue
        if not _HEX.match(commit):
            raise ValueError(f"{ref} holds no commit")
        return shown(branch), commit
    return shown(branch), _packed(common, ref)


def _packed(common: str, ref: str) -> str | None:
    """The commit that `packed-refs` has for a branch; None for a branch without a commit."""
    try:
        text = _read(os.path.join(common, "packed-refs"))
    except FileNotFoundError:
        return None
    for line in text.splitlines():
        commit, _, named = line.partition(" ")
        if named == ref and _HEX.match(commit):
            return commit
    return None


def _name(common: str, folder: str) -> str:
    """The repository's name, from its origin's address, else from its folder."""
    try:
        found = _REMOTE_URL.search(_read(os.path.join(common, "config")))
    except FileNotFoundError:
        found = None
    last = re.split(r"[/:\\]", found[1].rstrip("/").removesuffix(".git").rstrip("/"))[-1] if found else ""
    own = os.path.basename(os.path.dirname(common)) if os.path.basename(common) == ".git" else folder
    return last or own or folder


def _read(path: str) -> str:
    """The text of a small file. Raises: OSError; ValueError where it is no regular file, or too large."""
    with open(path, "rb") as file:
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise ValueError(f"{os.path.basename(path)} is too large")
    return data.decode("utf-8", "surrogateescape")


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
