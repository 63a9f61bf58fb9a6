"""The log of `--debug`: one file per day, every SQL statement with its time, and full tracebacks."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from pathlib import Path

import click

from kb.errors import StoreReadOnly
from kb.store.trace import trace_statements

_log = logging.getLogger("kb")
_log.addHandler(logging.NullHandler())  # where the log could not be opened, nothing is written in its stead


def start_log(directory: Path) -> None:
    """Logs this call to `directory/kb-<date>.log` and says so on stderr.

    Raises: StoreReadOnly where the log cannot be written.
    """
    path = log_file(directory)
    try:
        _log.addHandler(_handler(path))
    except OSError as error:
        raise StoreReadOnly(f"{path} cannot be written: {error.strerror}", "set storage.log_dir") from error
    _log.setLevel(logging.DEBUG)
    trace_statements(_log.debug)
    click.echo(f"debug log: {path}", err=True)


def log_file(directory: Path) -> Path:
    """Today's log."""
    return directory / f"kb-{datetime.now(UTC):%Y-%m-%d}.log"


def keep_traceback(directory: Path, error: BaseException) -> Path | None:
    """Adds an error with its traceback to today's log, which it returns; None where it cannot be written."""
    path = log_file(directory)
    try:
        handler = _handler(path)
    except OSError:
        return None
    _log.addHandler(handler)
    log_traceback(error)
    _log.removeHandler(handler)
    handler.close()
    return path


def _handler(path: Path) -> logging.Handler:
    path.parent.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(path, encoding="utf-8", errors="backslashreplace")
    handler.setFormatter(logging.Formatter("%(asctime)s %(process)d %(levelname)s %(message)s"))
    return handler


def log_traceback(error: BaseException) -> None:
    """Writes an error with its traceback and causes."""
    _log.error("%s", error, exc_info=error)
