"""Prepares the plain `sqlite3` program: an init file for a knowledge base, and the parameters of a question.

The init file contains dot commands of that program (3.40 or later), never SQL, which is read from `sql/`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from kb.domain.results.inspection import BoundQuery
from kb.domain.search import SearchQuery
from kb.errors import UsageError, write_errors
from kb.operations.opening.base import Base
from kb.operations.search.search import bind_question
from kb.store.connection import BUSY_TIMEOUT_MS
from kb.store.mirror import has_mirror, vector_functions_path
from kb.store.sqlfile import SQL_DIR

# The first words of an init file: kb does not overwrite a file with another beginning.
_SIGNATURE = "-- kb sql --rc"

_PARAM_HEADER = re.compile(r"^-- param (\w+)", re.MULTILINE)

# The escapes that the program knows between double quotes; every other character is literal.
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r"})


def bind_query(session: Base, query: SearchQuery) -> BoundQuery:
    """The statement and the parameters that `kb search` would use for a question.

    Raises: NotIndexed and other StoreErrors; UsageError for an invalid filter; ModelError for a vector question.
    """
    with session.reading() as base:
        name, terms, params = bind_question(base, query)
        return BoundQuery(query.text, terms, SQL_DIR / name, params, has_mirror(base.db))


def query_lines(bound: BoundQuery) -> list[str]:
    """The dot commands that set a question's parameters."""
    return [f"-- {_quoted(bound.text)}, for .read {_quoted(str(bound.statement))}", *_param_lines(bound.params)]


def init_lines(sqlite: Path, bound: BoundQuery, *, writable: bool) -> list[str]:
    """An init file that opens the knowledge base and sets every parameter of `sql/retrieve`, to NULL if unbound.

    It opens the file read-only instead of setting `PRAGMA query_only`, under which `.param set` would silently do
    nothing. With `writable`, the database of the program stays open and is configured for writing as kb does.
    """
    opening = (
        [".output /dev/null", f".read {_quoted(str(SQL_DIR / 'schema' / 'open_writer.sql'))}", ".output"]
        if writable
        else [f".open --readonly {_quoted(str(sqlite))}"]
    )
    return [
        f"{_SIGNATURE}: init file for the sqlite3 program, 3.40 or later",
        f"-- a search: .read {_quoted(str(bound.statement))}",
        *opening,
        *([f".load {_quoted(vector_functions_path())}"] if bound.with_vectors else []),
        f".timeout {BUSY_TIMEOUT_MS}",
        ".headers on",
        ".mode line",
        ".param init",
        *_param_lines({"sql_dir": str(SQL_DIR)}),
        *_param_lines(dict.fromkeys(_retrieve_params()) | dict(bound.params)),
    ]


def write_init_file(path: Path, lines: list[str]) -> None:
    """Writes an init file; replaces only a file that kb wrote.

    Raises: UsageError for an existing file of somebody else; StoreReadOnly if it cannot be written.
    """
    with write_errors(path, "name a file in a folder of yours"):
        if path.exists() and not path.read_text(encoding="utf-8", errors="replace").startswith(_SIGNATURE):
            raise UsageError(f"{path} is not an init file of kb", "name another file, or remove this one")
        with path.open("w", encoding="utf-8", errors="surrogateescape") as file:
            os.fchmod(file.fileno(), 0o600)  # it contains the question, and an earlier version may have made it
            file.write("\n".join(lines) + "\n")


def _retrieve_params() -> list[str]:
    """The names of all parameters in the statements of `sql/retrieve`, in order."""
    files = sorted(SQL_DIR.glob("retrieve/*.sql"))
    return list(dict.fromkeys(name for path in files for name in _PARAM_HEADER.findall(path.read_text("utf-8"))))


def _param_lines(params: Mapping[str, object]) -> list[str]:
    return [f".param set :{name} {_expression(value)}" for name, value in params.items()]


def _expression(value: object) -> str:
    """A value as an argument of `.param set`: an SQL expression, in double quotes if it is a string."""
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return _quoted(f"x'{value.hex()}'")
    if isinstance(value, str):
        return _quoted("'" + value.replace("'", "''") + "'")
    return str(value)


def _quoted(text: str) -> str:
    """`text` as one argument of a dot command, on one line."""
    return '"' + text.translate(_ESCAPES) + '"'
