"""Privacy and read-only mode of a process: libraries report nothing, only the user can read the files that kb makes.

Every process of kb's own enters `kept_private` before it loads a library: the command in `kb.cli.main`, a worker in
`kb.workers.pool`. Environment and umask belong to the process, so they are set once, at its start, and
the programs and libraries it starts inherit them. A Python program that opens a knowledge base keeps its own: there,
kb makes each folder and file private as it creates it (`make_private_folder`, `make_private_file`), and turns off the
telemetry of a library while kb loads it (`unreported`). Files that the user asks for (a report, a golden set), and an
editor that kb starts, get the environment and modes of the user's shell.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import NamedTuple, TextIO

from kb.errors import StoreReadOnly

PRIVATE_UMASK = 0o077
"""New folders are 0700, new files 0600."""

QUIET: Mapping[str, str] = {
    # onnxruntime counts its sessions for Microsoft, with a device id and a queue of events below ~/.cache/Microsoft.
    "ORT_DISABLE_TELEMETRY": "1",
    # huggingface_hub (fastembed and tokenizers bring it) asks the hub whether a cached model is still the newest.
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1",
    # hf_xet, its downloader, contacts another host and reports downloads.
    "HF_HUB_DISABLE_XET": "1",
    "HF_XET_TELEMETRY_ENABLED": "false",
    # https://consoledonottrack.com: for libraries to come.
    "DO_NOT_TRACK": "1",
}
"""The variables that keep libraries from contacting hosts nobody configured; they override the user's shell."""

_UNREPORTED = {name: QUIET[name] for name in ("ORT_DISABLE_TELEMETRY", "DO_NOT_TRACK")}
_loading = Lock()

READ_ONLY = "KB_READ_ONLY"
"""The variable that puts a process and those it starts into read-only mode.

Then the knowledge base, its models, settings and golden questions do not change: a command that would write them fails.
Reports and pages that the user asks for by file name are still written.
"""


class Surroundings(NamedTuple):
    """Environment and umask of a process."""

    environment: Mapping[str, str]
    umask: int


_users: Surroundings | None = None  # as the shell handed them over, while this process is kept private


def is_read_only() -> bool:
    """Whether this process must not change the knowledge base, its models and its settings."""
    return os.environ.get(READ_ONLY, "").strip().lower() not in ("", "0", "no", "false", "off")


def require_writable(what: str = "the knowledge base") -> None:
    """Raises: StoreReadOnly in read-only mode."""
    if is_read_only():
        raise StoreReadOnly(f"read-only mode: {what} is not changed", f"leave out --read-only, or unset {READ_ONLY}")


@contextmanager
def read_only() -> Iterator[None]:
    """Read-only mode until the block ends."""
    with _environment({READ_ONLY: "1"}):
        yield


@contextmanager
def kept_private() -> Iterator[None]:
    """Keeps this process and its child processes private until the block ends."""
    global _users
    if _users is not None:
        yield
        return
    _users = Surroundings(dict(os.environ), os.umask(PRIVATE_UMASK))
    try:
        with _environment(QUIET):
            yield
    finally:
        os.umask(_users.umask)
        _users = None


@contextmanager
def unreported() -> Iterator[None]:
    """In the block, onnxruntime loads without telemetry; other libraries read the environment themselves.

    What huggingface_hub reads of it at its load would stay: kb opens models in its cache by `local_files_only`.
    """
    with _loading, _environment(_UNREPORTED):
        yield


@contextmanager
def fetching(directory: Path) -> Iterator[None]:
    """Lets huggingface_hub fetch a model and store its files below `directory`; for the command that installs models.

    huggingface_hub must not be loaded yet. A user's HF_HUB_OFFLINE counts here too.
    """
    theirs = users_surroundings().environment.get("HF_HUB_OFFLINE", "0")
    with _environment({"HF_HUB_OFFLINE": theirs, "HF_HOME": str(directory)}):
        yield


def users_surroundings() -> Surroundings:
    """Environment and umask as the user's shell set them."""
    if _users is not None:
        return _users
    umask = os.umask(PRIVATE_UMASK)
    os.umask(umask)
    return Surroundings(dict(os.environ), umask)


def make_private_folder(path: Path) -> None:
    """Makes the folder and its missing parents, private to the user. Raises: OSError."""
    if path.is_dir():
        return
    make_private_folder(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)


def make_private_file(path: Path) -> None:
    """Makes an empty file, private to the user, if it does not exist. Raises: OSError.

    A file that is there is not opened: closing it would drop the locks that SQLite has on it in this process.
    """
    if not path.exists():
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))


def replace_file(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Writes the file aside and renames it: it appears whole or not at all, also when the process dies.

    Raises: OSError.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(data)
            os.fchmod(file.fileno(), mode)
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        raise


def open_for_user(path: Path) -> TextIO:
    """Opens the file at `path`, emptied, to write UTF-8; a new file gets the mode of the user's shell."""
    return open(path, "w", encoding="utf-8", opener=_users_opener)


def make_folder_for_user(path: Path) -> None:
    """Makes the folder and its missing parents, with the mode of the user's shell."""
    if path.is_dir():
        return
    make_folder_for_user(path.parent)
    path.mkdir(exist_ok=True)
    path.chmod(0o777 & ~users_surroundings().umask)


def _users_opener(path: str, flags: int) -> int:
    try:
        descriptor = os.open(path, flags | os.O_EXCL, 0o600)
    except FileExistsError:
        return os.open(path, flags, 0o600)
    os.fchmod(descriptor, 0o666 & ~users_surroundings().umask)
    return descriptor


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Sets these variables until the block ends."""
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        for name in values:
            if name in before:
                os.environ[name] = before[name]
            else:
                os.environ.pop(name, None)
