"""Opens the SQLite file: checks the schema version, sets pragmas, holds the writer lock, translates SQLite's errors."""

from __future__ import annotations

import errno
import functools
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, TypeAlias

import apsw

from kb.errors import (
    DiskFull,
    NotAKnowledgeBase,
    NotIndexed,
    QuerySyntaxError,
    SchemaTooNew,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreReadOnly,
    write_errors,
)
from kb.private import make_private_file, make_private_folder
from kb.store import queries
from kb.store.sqlfile import MIGRATIONS_DIR


class Migration(NamedTuple):
    """One file of `migrations/`: `0001_init.sql`."""

    number: int
    description: str
    path: Path


@functools.cache
def migrations() -> tuple[Migration, ...]:
    """All migrations this kb knows, in order."""
    found = []
    for name in sorted(os.listdir(MIGRATIONS_DIR)):
        number, _, words = name.removesuffix(".sql").partition("_")
        if name.endswith(".sql"):
            found.append(Migration(int(number), words.replace("_", " "), MIGRATIONS_DIR / name))
    return tuple(found)


def latest_version() -> int:
    """The schema version this kb writes."""
    return migrations()[-1].number


def schema_state(db: apsw.Connection) -> queries.SchemaVersion:
    """The schema version and the hash of views and triggers in the file; version 0 for an empty file."""
    found = queries.select_schema_version(db) if db.table_exists(None, "schema_meta") else None
    return found or queries.SchemaVersion(0, "", "", None, None, None)


def require_known_schema(db: apsw.Connection) -> int:
    """The schema version of the file.

    Raises: SchemaTooNew if a newer kb wrote the file, StoreCorrupt if its version and its tables contradict each other.
    """
    state = schema_state(db)
    if state.schema_version > latest_version():
        raise SchemaTooNew(
            f"this knowledge base has schema {state.schema_version}; this kb knows up to {latest_version()}",
            "update kb; the file was left untouched",
        )
    if state.schema_version < 1 or state.schema_version != state.last_migration:
        raise StoreCorrupt(
            f"this knowledge base does not say truly which schema it has: schema_meta {state.schema_version}, "
            f"migrations {state.last_migration}",
            "move the file away and run kb ingest, which rebuilds it from your files; keep it: answers are in it alone",
        )
    return state.schema_version


# What the other rooms pass around; only this one knows the library behind it.
Connection: TypeAlias = apsw.Connection

# "kb" and a format number, in PRAGMA application_id: a foreign SQLite file is never written to.
APPLICATION_ID = 0x6B620001
BUSY_TIMEOUT_MS = 5_000

_LARGEST_WRITE_BYTES = 1 << 16  # of SQLite: a page at most


@contextmanager
def sqlite_errors(path: Path) -> Iterator[None]:
    """Turns SQLite's errors in the block into StoreErrors with a hint; `path` is the file they are about."""
    try:
        yield
    except apsw.NotADBError as error:
        raise StoreCorrupt(
            f"{path} is not a SQLite database", "move it away and run: kb init; kb ingest rebuilds it from your files"
        ) from error
    except apsw.SQLError as error:
        if not str(error).startswith(("no such table:", "no such column:")):
            raise
        raise StoreCorrupt(
            f"{path} lacks what kb put there: {error}",
            "kb ingest makes views, triggers and indexes again; where that is refused too, move the file away and run "
            "kb ingest, which rebuilds it from your files; keep it: answers are in it alone",
        ) from error
    except apsw.CorruptError as error:
        raise StoreCorrupt(
            f"{path} is damaged: {error}",
            f"try: sqlite3 {path} .recover; or move it away and run kb ingest, which rebuilds it from your files",
        ) from error
    except apsw.FullError as error:
        raise _no_room(path, errno.ENOSPC) from error
    except (apsw.ReadOnlyError, apsw.PermissionsError) as error:
        raise StoreReadOnly(
            f"{path} cannot be written: {error}", "check the permissions of its directory, or set storage.data_dir"
        ) from error
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreBusy(
            f"another program is writing to {path}", "try again when it has finished, or close it"
        ) from error
    except (apsw.CantOpenError, apsw.IOError) as error:
        if number := _why_it_cannot_grow(path):
            raise _no_room(path, number) from error
        if isinstance(error, apsw.IOError):
            raise StoreError(
                f"{path} cannot be read or written: {error}", "check the disk that holds its directory"
            ) from error
        raise StoreError(f"{path} cannot be opened: {error}", "check that its directory exists and is yours") from error


@contextmanager
def expression_errors() -> Iterator[None]:
    """Turns SQLite's error about a raw FTS5 expression into QuerySyntaxError."""
    try:
        yield
    except apsw.SQLError as error:
        raise QuerySyntaxError(
            f"FTS5 does not accept this expression: {error}",
            "drop the single quotes to search for the words themselves, or see the FTS5 query syntax",
        ) from error


def sqlite_version() -> str:
    """The version of the SQLite library in this process."""
    return apsw.sqlite_lib_version()


def open_reader(path: Path) -> apsw.Connection:
    """A read-only connection to an existing knowledge base; see `open_versioned`."""
    return open_versioned(path)[0]


def open_versioned(path: Path) -> tuple[apsw.Connection, int]:
    """A read-only connection to an existing knowledge base, and its schema version; it never waits for a writer.

    Raises: NotIndexed if there is no file, NotAKnowledgeBase for a file of another program, SchemaTooNew; StoreCorrupt,
    also for an empty file, which is a damaged knowledge base and not one without notes.
    """
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotIndexed(
            f"no knowledge base at {path}",
            "create it with: kb ingest, after kb init where nothing is set up",
            details={"path": str(path)},
        ) from error
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}", "check that its directory is yours") from error
    with sqlite_errors(path):
        try:
            db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
            version = _require_own(db, path)
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            # A WAL database on a read-only medium has no shared-memory file to open; nobody writes it either.
            if os.access(path.parent, os.W_OK):
                raise
            log = path.with_name(f"{path.name}-wal")
            if log.exists() and log.stat().st_size:
                raise StoreReadOnly(
                    f"{log} has changes that cannot be read where nothing can be written",
                    "kb export --snapshot makes a copy that is read anywhere",
                ) from None
            flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
            db = apsw.Connection(f"{path.as_uri()}?immutable=1", flags=flags)
            version = _require_own(db, path)
        if not db.pragma("application_id"):
            raise StoreCorrupt(
                f"{path} is empty: it holds no knowledge base",
                "kb ingest fills it from your files; where answers were kept in it, put a backup in its place instead",
            )
    return db, version


def open_writer(path: Path) -> apsw.Connection:
    """A read-write connection with foreign keys and WAL; creates the file if there is none.

    Raises: NotAKnowledgeBase, SchemaTooNew, StoreCorrupt, before anything is written; StoreReadOnly.
    """
    from kb.private import require_writable  # a reader does without

    require_writable()
    with sqlite_errors(path):
        db = open_private(path)
        db.transaction_mode = "IMMEDIATE"
        _require_own(db, path)
        queries.open_writer(db)
    return db


def open_private(path: Path, setting: str = "storage.data_dir") -> apsw.Connection:
    """A connection to a file; a new file and those beside it are readable to the user alone.

    Raises: StoreReadOnly if the folder cannot be made; `setting` is the setting that the message names.
    """
    with write_errors(path.parent, f"set {setting} to a directory that is yours", "made"):
        make_private_folder(path.parent)
    with suppress(OSError):  # which SQLite tells in its own words
        make_private_file(path)
    db = apsw.Connection(str(path))
    db.set_busy_timeout(BUSY_TIMEOUT_MS)
    return db


def _require_own(db: apsw.Connection, path: Path) -> int:
    """The schema version of the file, 0 if it is empty.

    Raises: NotAKnowledgeBase unless it is empty or has kb's application id, SchemaTooNew if a newer kb wrote it.
    """
    db.set_busy_timeout(BUSY_TIMEOUT_MS)
    # One plan per statement, whatever is bound: the same every time, and not worked out again for every question.
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    application_id = db.pragma("application_id")
    if application_id == APPLICATION_ID:
        return require_known_schema(db)
    if application_id != 0 or db.pragma("schema_version") != 0:
        raise NotAKnowledgeBase(
            f"{path} is another program's SQLite database",
            "set storage.sqlite to a path of its own in the configuration",
        )
    return 0


@contextmanager
def transaction(db: Connection) -> Iterator[None]:
    """Runs the block in one transaction: everything that it writes is stored, or nothing.

    On a full disk SQLite rolls back by itself; the error of the second rollback must not hide the first.
    """
    try:
        with db:
            yield
    except apsw.SQLError as error:
        if isinstance(error.__context__, apsw.Error) and not db.in_transaction:
            raise error.__context__ from None
        raise


@contextmanager
def snapshot(db: Connection) -> Iterator[None]:
    """Inside the block the connection reads the database as it is now, whatever others write meanwhile."""
    with db:
        db.pragma("schema_version")  # SQLite takes the snapshot at the first read
        yield


def data_version(db: Connection) -> int:
    """A number that changes when another connection has changed the database."""
    return int(db.pragma("data_version"))


def scrub(db: Connection) -> None:
    """Rewrites the file without deleted contents, and empties the write-ahead log.

    Raises: SQLite's BusyError while another connection still reads the old contents.
    """
    db.execute("VACUUM")
    db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)


def copy_database(db: Connection, path: Path) -> None:
    """Writes everything that the connection sees now into a new file, private to the user."""
    target = open_private(path)
    try:
        with target.backup("main", db, "main") as copying:
            copying.step(-1)
    finally:
        target.close()


def close_log(path: Path) -> None:
    """Removes the write-ahead log of a database that nobody has open, to make it readable in a read-only folder."""
    with closing(apsw.Connection(str(path))) as db:
        db.pragma("journal_mode", "delete")
    path.with_name(f"{path.name}.lock").unlink(missing_ok=True)


def open_in_memory() -> Connection:
    """An empty database in memory."""
    db = apsw.Connection(":memory:")
    db.transaction_mode = "IMMEDIATE"
    return db


@contextmanager
def writer_lock(path: Path) -> Iterator[None]:
    """Holds the writer lock beside the database during the block; the system frees it if the process ends.

    Raises: StoreBusy, with the process that holds the lock.
    """
    import fcntl

    lock_path = path.with_name(path.name + ".lock")
    with write_errors(lock_path, "check the permissions of the data directory"):
        descriptor = os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(descriptor, 32).decode("ascii", "replace").strip() or "unknown"
            raise StoreBusy(
                f"another kb is writing to this knowledge base (process {holder})",
                "wait for it to finish; searching works meanwhile",
            ) from error
        _note_holder(descriptor, lock_path)
        yield
    finally:
        os.close(descriptor)


def _note_holder(descriptor: int, lock_path: Path) -> None:
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode("ascii"), 0)
    except OSError as error:
        raise _no_room(lock_path, error.errno or errno.ENOSPC) from error


def _no_room(path: Path, number: int) -> DiskFull:
    from kb.errors import no_room  # which no search needs

    return no_room(path, number, " and run the same command again: it goes on from here")


def _why_it_cannot_grow(path: Path) -> int | None:
    """The system's error number if the database or a file beside it cannot grow, else None; SQLite does not tell it."""
    import resource

    try:
        if os.statvfs(path.parent).f_bavail == 0:
            return errno.ENOSPC
    except OSError:
        return None
    most_bytes, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if most_bytes == resource.RLIM_INFINITY:
        return None
    beside = [path.with_name(f"{path.name}{suffix}") for suffix in ("", "-wal", "-shm", "-journal")]
    largest_bytes = max((each.stat().st_size for each in beside if each.exists()), default=0)
    return errno.EFBIG if largest_bytes + _LARGEST_WRITE_BYTES > most_bytes else None
