"""Reads the repository around a folder from its `.git`, without running git.

A `.git` is a folder, or in worktrees and submodules a file that names one; a worktree's folder names in `commondir` the
folder of the branches. Damaged or unknown data is a fault; the rest is still returned.
"""

from __future__ import annotations

import os
import re

from kb.domain.symbols import Repository
from kb.scan.read import shown

_HEX = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
_REF = re.compile(r"refs/[^\0\s~^:?*\[\\]+\Z")
_REMOTE_URL = re.compile(r'\[remote "origin"\][^\[]*?^\s*url\s*=\s*(\S+)\s*$', re.MULTILINE | re.DOTALL)
_MOST_BYTES = 20_000_000
_HEADS = "refs/heads/"


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
