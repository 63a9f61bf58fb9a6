"""The whole exception tree. Each class is one `error.v1` code; `cli` turns it into an exit code once.

    KbError                 generic
    ├── UsageError          invalid_argument
    │   ├── InvalidId       invalid_id
    │   ├── InvalidCitation invalid_citation
    │   ├── InvalidCursor   invalid_cursor
    │   ├── StaleCursor     stale_cursor
    │   └── QuerySyntaxError query_syntax
    ├── ConfigError         config_invalid
    │   └── ConfigNotFound  config_not_found
    ├── GoldenInvalid       golden_invalid
    ├── StoreError          store_error
    │   ├── NotIndexed      not_indexed
    │   ├── NotAKnowledgeBase store_foreign
    │   ├── StoreCorrupt    store_corrupt
    │   ├── VectorsUnusable vectors_unusable
    │   ├── OtherWorkspace  other_workspace
    │   ├── SchemaTooNew    schema_too_new
    │   ├── StoreBusy       store_busy
    │   ├── StoreReadOnly   store_readonly
    │   └── DiskFull        disk_full
    ├── ClusterFailed       cluster_failed      (the scheduler, or every worker, is gone)
    ├── NotFound            not_found
    ├── Canceled            canceled            (long work that was asked to stop)
    ├── FileError           io_error            (one file's failure: an item of the report)
    │   ├── FileUnreadable  file_unreadable
    │   ├── FileChanged     file_changed
    │   ├── FileVanished    file_vanished
    │   ├── FileNamedTwice  file_named_twice
    │   ├── FileTooLarge    file_too_large
    │   ├── FileNotRegular  file_not_regular
    │   ├── PathNotUnicode  path_not_unicode
    │   └── ExtractFailed   extract_failed
    │       ├── PasswordNeeded password_needed
    │       └── EngineFailed engine_failed
    └── ModelError          model_error
        ├── ModelMissing    model_missing
        ├── ModelCorrupt    model_corrupt
        ├── OtherModel      other_model
        ├── ModelUnreachable model_unreachable
        ├── ModelNotPulled  model_not_pulled
        ├── ModelTimeout    timeout
        ├── StreamBroken    stream_broken
        ├── PluginFailed    plugin_failed
        └── PromptTooLong   prompt_too_long

A refusal and "no hit" are values, not exceptions.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import ClassVar


class KbError(Exception):
    """What happened and what to do about it. `code` is stable; `message` and `hint` are for people.

    `details` are for programs: `path` (not_indexed), `key` or the file's `path` (config_invalid), `endpoint`
    (model_unreachable); else {}.
    """

    code: ClassVar[str] = "generic"
    message: str
    hint: str | None
    details: dict[str, str]

    def __init__(self, message: str, hint: str | None = None, *, details: Mapping[str, str] | None = None) -> None:
        """`details` are the values of the message that a program needs."""
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = dict(details or {})


class UsageError(KbError):
    """The arguments of a call are wrong."""

    code = "invalid_argument"


class InvalidId(UsageError):
    """Not an id, or a prefix that names more than one thing."""

    code = "invalid_id"


class InvalidCitation(UsageError):
    """Not a citation URI."""

    code = "invalid_citation"


class InvalidCursor(UsageError):
    """Not a cursor that this kb gave, or one of another command."""

    code = "invalid_cursor"


class StaleCursor(UsageError):
    """A cursor given before the corpus changed: its position no longer means the same."""

    code = "stale_cursor"


class QuerySyntaxError(UsageError):
    """A raw FTS5 expression that SQLite does not accept."""

    code = "query_syntax"


class ConfigError(KbError):
    """The configuration has an unknown key or a value out of range."""

    code = "config_invalid"


class ConfigNotFound(ConfigError):
    """The file named by --config or KB_CONFIG does not exist."""

    code = "config_not_found"


class GoldenInvalid(KbError):
    """A golden set that cannot be read, or that expects places that are not indexed."""

    code = "golden_invalid"


class StoreError(KbError):
    """The SQLite file cannot be used as it is."""

    code = "store_error"


class NotIndexed(StoreError):
    """There is no knowledge base yet."""

    code = "not_indexed"


class NotAKnowledgeBase(StoreError):
    """A SQLite file that kb did not make."""

    code = "store_foreign"


class StoreCorrupt(StoreError):
    """Not a SQLite file, or a damaged one."""

    code = "store_corrupt"


class VectorsUnusable(StoreError):
    """A Lance table that is damaged, missing or of another model; the mirror in SQLite is separate."""

    code = "vectors_unusable"


class OtherWorkspace(StoreError):
    """The knowledge base was made from another folder than the one to index."""

    code = "other_workspace"


class SchemaTooNew(StoreError):
    """Written by a newer kb."""

    code = "schema_too_new"


class StoreBusy(StoreError):
    """Another process is writing."""

    code = "store_busy"


class StoreReadOnly(StoreError):
    """The data directory cannot be written."""

    code = "store_readonly"


class DiskFull(StoreError):
    """No room left; everything committed so far is kept."""

    code = "disk_full"


_WHY_NO_ROOM = {
    errno.ENOSPC: "no room left on the disk of {path}",
    errno.EDQUOT: "your quota on the disk of {path} is used up",
    errno.EFBIG: "{path} cannot grow: larger files are not allowed here",
}

NO_ROOM = frozenset(_WHY_NO_ROOM)
"""The system's error numbers for a file that cannot grow."""


def no_room(path: str | os.PathLike[str], number: int, then: str) -> DiskFull:
    """The error for a file at `path` that cannot grow; `then` says what to do."""
    why = _WHY_NO_ROOM.get(number, f"{{path}} cannot be written: {os.strerror(number)}")
    is_limit = number == errno.EFBIG
    hint = "raise the limit on the size of files (ulimit -f)" if is_limit else "free some space"
    return DiskFull(why.format(path=path), f"{hint}{then}")


class ClusterFailed(KbError):
    """The Dask scheduler cannot be reached any more, or has no usable worker; everything that came back is kept."""

    code = "cluster_failed"


class NotFound(KbError):
    """No document, chunk or answer has that id."""

    code = "not_found"


class Canceled(KbError):
    """The work was canceled, and stopped where everything done so far is complete."""

    code = "canceled"


class FileError(KbError):
    """A file could not be read or written; one that was to be indexed is an item of the report."""

    code = "io_error"


class FileUnreadable(FileError):
    """Permission denied, or an I/O error."""

    code = "file_unreadable"


class FileChanged(FileError):
    """The file kept changing while it was read."""

    code = "file_changed"


class FileVanished(FileError):
    """The file was there at the scan and gone at the read."""

    code = "file_vanished"


class FileNamedTwice(FileError):
    """Another file of the folder has the same name in other code points."""

    code = "file_named_twice"


class FileTooLarge(FileError):
    """Above the size kb reads into memory."""

    code = "file_too_large"


class FileNotRegular(FileError):
    """A FIFO, socket or device."""

    code = "file_not_regular"


class PathNotUnicode(FileError):
    """A name whose bytes are not UTF-8."""

    code = "path_not_unicode"


class ExtractFailed(FileError):
    """The file's content could not be read as its media type."""

    code = "extract_failed"


class PasswordNeeded(ExtractFailed):
    """The file is encrypted, and no known password opens it."""

    code = "password_needed"


class EngineFailed(ExtractFailed):
    """The engine that read the file crashed, hung, or took too much memory."""

    code = "engine_failed"


class ModelError(KbError):
    """A model cannot be used as it is."""

    code = "model_error"


class ModelMissing(ModelError):
    """The model, or the library that runs it, is not installed."""

    code = "model_missing"


class ModelCorrupt(ModelError):
    """A model file has the wrong size or checksum."""

    code = "model_corrupt"


class OtherModel(ModelError):
    """The vectors of the index are of another model than the one that is installed now."""

    code = "other_model"


class ModelUnreachable(ModelError):
    """The server that runs the model does not answer."""

    code = "model_unreachable"


class ModelNotPulled(ModelError):
    """The server answers, and does not have the model."""

    code = "model_not_pulled"


class ModelTimeout(ModelError):
    """The model took longer than it was given."""

    code = "timeout"


class StreamBroken(ModelError):
    """The generated text broke off, or the stream is not as the protocol says."""

    code = "stream_broken"


class PluginFailed(ModelError):
    """A plugin of another package cannot be loaded, or failed."""

    code = "plugin_failed"


class PromptTooLong(ModelError):
    """The prompt leaves no room for an answer in the model's context window."""

    code = "prompt_too_long"


def worded(error: BaseException) -> str:
    """The message of a library's exception on one line; its class where the message is empty."""
    words = " ".join(str(error).split())
    return words or f"{type(error).__name__}, without a word"


@contextmanager
def write_errors(
    path: object, hint: str, done: str = "written", *, kind: type[KbError] = StoreReadOnly
) -> Iterator[None]:
    """Turns an OSError in the block into an error of that `kind`: `path` cannot be written."""
    try:
        yield
    except OSError as error:
        raise kind(f"{path} cannot be {done}: {error.strerror}", hint) from error
