"""The last handler: what nobody foresaw, as an error with a hint; its traceback goes to the log."""

from __future__ import annotations

from pathlib import Path

from kb.cli.call import Call
from kb.cli.debug_log import keep_traceback, log_file
from kb.config import Config
from kb.errors import NO_ROOM, FileError, KbError, no_room


def unforeseen(error: BaseException, call: Call) -> KbError:
    """The error to show for an exception of any kind, which is its cause."""
    directory = _log_dir(call)
    if call.debug:
        log: Path | None = log_file(directory)  # it is open, and gets the traceback when the error is shown
    else:
        log = keep_traceback(directory, error)
    details = f"the details are in {log}" if log else "kb --debug with the same words writes the details to a log"
    shown = _in_words(error, details)
    shown.__cause__ = error
    return shown


def _in_words(error: BaseException, details: str) -> KbError:
    if isinstance(error, MemoryError):
        return KbError("not enough memory", f"close other programs, or index less at once; {details}")
    if isinstance(error, OSError) and error.strerror:
        if error.errno in NO_ROOM:
            return no_room(error.filename or "kb's files", error.errno, " and run it again: what was done is kept")
        where = f"{error.filename}: " if error.filename else ""
        return FileError(f"{where}{error.strerror}", f"check that the path exists and is yours; {details}")
    return KbError(
        f"kb did not foresee this: {type(error).__name__}: {error}",
        f"kb doctor checks the installation and the index; {details}",
    )


def _log_dir(call: Call) -> Path:
    """Where the configuration wants logs; its default where the configuration itself is at fault."""
    try:
        return call.config.log_dir
    except Exception:  # noqa: BLE001  whatever it is, it has been met already: here it must not hide the first
        return Config().log_dir
