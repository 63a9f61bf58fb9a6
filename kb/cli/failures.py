"""Shows the errors of a call with a hint, expected or not; writes the log of `--debug`, with full tracebacks."""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from kb.cli.call import Call
from kb.cli.output.printing import echo_folded, json_line
from kb.cli.output.terminal import as_utf8
from kb.config import Config
from kb.domain.text import plain_line
from kb.errors import NO_ROOM, FileError, KbError, UsageError, no_room, write_errors
from kb.store.trace import trace_statements

_MESSAGE_CHARS = 300

_log = logging.getLogger("kb")
_log.addHandler(logging.NullHandler())  # without a log file, nothing is written anywhere else


def show_failure(program: click.Command, error: BaseException, args: list[str]) -> None:
    """Shows an exception of a call with these arguments: an error with a hint, as JSON where the call prints JSON."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.ctx.get_help() if error.ctx else error.format_message(), err=True)
    elif isinstance(error, click.ClickException):
        # On one line; it repeats the words typed, which may be a shell's whole glob.
        message = " ".join(error.format_message().split())
        cut = message[:_MESSAGE_CHARS] + "…" * (len(message) > _MESSAGE_CHARS)
        _show(UsageError(cut, _usage_hint(program, error)), args)
    elif isinstance(error, KbError):
        _show(error, args)
    else:
        words = program.make_context("kb", list(args), resilient_parsing=True).params
        call = Call(words["config_path"], words["settings"], words["verbose"], words["debug"], vault=words["vault"])
        _show(_unforeseen(error, call), args)


def _usage_hint(program: click.Command, error: click.ClickException) -> str | None:
    """A hint at the help of the command; for an option of kb itself, that it goes before the command."""
    if not isinstance(error, click.UsageError) or error.ctx is None:
        return None
    if isinstance(error, click.NoSuchOption) and any(error.option_name in option.opts for option in program.params):
        return f"{error.option_name} goes before the command: kb {error.option_name} … {error.ctx.info_name}"
    return f"{error.ctx.command_path} --help shows how it is called"


def _show(error: KbError, args: list[str]) -> None:
    if "--json" in args or "--bulk" in args:
        as_utf8(sys.stderr).write(json_line(error) + "\n")
        sys.stderr.flush()
    else:
        echo_folded(plain_line(error.message), head="error: ", err=True)
        if error.hint:
            echo_folded(plain_line(error.hint), head="  hint: ", err=True)
        cause = error.__cause__ if "--verbose" in args or "--debug" in args else None
        while cause is not None:
            click.echo(f"  caused by: {type(cause).__name__}: {plain_line(str(cause))}", err=True)
            cause = cause.__cause__
    if "--debug" in args:
        _log_traceback(error)


def _unforeseen(error: BaseException, call: Call) -> KbError:
    """The error to show for an unexpected exception, which becomes its cause; the traceback goes to the log."""
    try:
        directory = call.config.log_dir
    except Exception:  # noqa: BLE001  an invalid configuration must not hide the first error
        directory = Config().log_dir
    # With --debug the log is open already, and gets the traceback when the error is shown.
    log = _log_file(directory) if call.debug else _keep_traceback(directory, error)
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


def start_log(directory: Path) -> None:
    """Logs this call, with every SQL statement and its time, to `directory/kb-<date>.log`; prints the path on stderr.

    Raises: StoreReadOnly if the log cannot be written.
    """
    path = _log_file(directory)
    with write_errors(path, "set storage.log_dir"):
        _log.addHandler(_handler(path))
    _log.setLevel(logging.DEBUG)
    trace_statements(_log.debug)
    click.echo(f"debug log: {path}", err=True)


def _log_file(directory: Path) -> Path:
    """Today's log."""
    return directory / f"kb-{datetime.now(UTC):%Y-%m-%d}.log"


def _keep_traceback(directory: Path, error: BaseException) -> Path | None:
    """Adds an error with its traceback to today's log and returns the log's path; None if it cannot be written."""
    path = _log_file(directory)
    try:
        handler = _handler(path)
    except OSError:
        return None
    _log.addHandler(handler)
    _log_traceback(error)
    _log.removeHandler(handler)
    handler.close()
    return path


def _handler(path: Path) -> logging.Handler:
    path.parent.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(path, encoding="utf-8", errors="backslashreplace")
    handler.setFormatter(logging.Formatter("%(asctime)s %(process)d %(levelname)s %(message)s"))
    return handler


def _log_traceback(error: BaseException) -> None:
    """Logs an error with its traceback and causes."""
    _log.error("%s", error, exc_info=error)
