"""Reads the files of `sql/`, and makes the function that runs each: `kb.store.queries` has them by name.

The header of a file is the truth about its statement: the function is made from it, and `queries.pyi`, which tells a
type checker the same, is written from it.

    -- Count the chunks that hold a word.        what it does, in one or more lines
    -- version 2                                 where code reads it: statements that rank
    -- tables vectors, derived  what they hold   written for the first; the argument `table` says which it runs on
    -- returns one WordCount                     `WordCount | None`; many: a list; each: an iterator
    -- returns changes                           the number of rows changed; without this line, nothing
    -- batch TagRow                              runs once for each of the rows: dictionaries with the parameters
    -- param word TEXT  the word                 TEXT, INTEGER, REAL or BLOB; `TEXT?` may be NULL
    -- column chunks INTEGER  chunks that hold it

A row is a named tuple of the columns. A class of `kb.domain` is named in full: `many kb.domain.search.Passage`; a
field that is a record is made of the columns of its fields, and fields that are no columns have defaults.
"""

import functools
import os
import re
import sys
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import apsw

TYPES = {"TEXT": "str", "INTEGER": "int", "REAL": "float", "BLOB": "bytes"}
SHAPES = ("one", "many", "each", "changes")

# A quoted text, a comment, or white space; quotes first, because "--" and blanks inside them mean something.
_TOKEN = r"""('(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\])|(?:--[^\n]*|/\*.*?(?:\*/|\Z)|\s)+"""

# Made into a file when it is migrated; no function runs them.
_REPEATABLE_FOLDERS = ("views", "triggers")


def _resource_dir(name: str) -> Path:
    """`sql/` or `migrations/`: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).parents[1]
    packed = package / name
    return packed if packed.is_dir() else package.parent / name


SQL_DIR = _resource_dir("sql")
MIGRATIONS_DIR = _resource_dir("migrations")


class Field(NamedTuple):
    """One `param` or `column` line of a header."""

    name: str
    type: str
    meaning: str


class Header(NamedTuple):
    """The parsed header of a file of `sql/`; '' or 0 for a line that it does not have."""

    purpose: str
    version: int
    tables: tuple[str, ...]
    shape: str
    row: str
    batch: str
    params: tuple[Field, ...]
    columns: tuple[Field, ...]


def read_header(text: str) -> Header:
    """Parses the header of a file of `sql/`. Raises: ValueError with the line that is not part of one."""
    purpose: list[str] = []
    said: dict[str, str] = {}
    fields: dict[str, list[Field]] = {"param": [], "column": []}
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        word, _, rest = line[3:].partition(" ")
        if word in fields:
            fields[word].append(_field(line, rest))
        elif word in ("version", "tables", "returns", "batch"):
            said[word] = rest.partition("  ")[0]
        elif said or any(fields.values()):
            raise ValueError(f"{line!r} follows a declaration")
        else:
            purpose.append(line[3:])
    shape, _, row = said.get("returns", "").partition(" ")
    if shape not in ("", *SHAPES) or (shape in ("", "changes")) != (not row):
        raise ValueError(f"'-- returns {said['returns']}' is not: one, many or each, and a row; or changes")
    return Header(
        purpose=" ".join(purpose),
        version=int(said.get("version", 0)),
        tables=tuple(filter(None, said.get("tables", "").split(", "))),
        shape=shape,
        row=row,
        batch=said.get("batch", ""),
        params=tuple(fields["param"]),
        columns=tuple(fields["column"]),
    )


def _field(line: str, declared: str) -> Field:
    named, _, meaning = declared.partition("  ")
    name, _, kind = named.partition(" ")
    if not name.isidentifier() or kind.removesuffix("?") not in TYPES or not meaning.strip():
        raise ValueError(f"{line!r} is not: -- param|column name TYPE[?]  meaning, with its unit")
    return Field(name, kind, meaning)


def bare_sql(text: str) -> str:
    """`text` without comments, with single spaces for white space: equal for two texts that SQLite treats alike."""
    return re.sub(_TOKEN, lambda match: match[1] or " ", text, flags=re.DOTALL).strip()


@functools.cache
def sql_text(name: str) -> str:
    """The text of one file of `sql/`."""
    return (SQL_DIR / name).read_text(encoding="utf-8")


@functools.cache
def header_of(name: str) -> Header:
    """The header of `sql/<name>`."""
    return read_header(sql_text(name))


@functools.cache
def statement(name: str, table: str | None = None) -> str:
    """The statement in `sql/<name>`; `table` is the table it runs on, if it serves several."""
    return sql_text(name) if table is None else sql_text(name).replace(header_of(name).tables[0], table)


def statement_label(name: str) -> str:
    """A statement with the version of its header: `search_lexical-2`."""
    return f"{name.rpartition('/')[2].removesuffix('.sql')}-{header_of(name).version}"


@functools.cache
def statement_files() -> Mapping[str, str]:
    """The path below `sql/` of every statement, by the name of its function."""
    folders = [name for name in sorted(os.listdir(SQL_DIR)) if "." not in name and name not in _REPEATABLE_FOLDERS]
    files = [f"{folder}/{file}" for folder in folders for file in sorted(os.listdir(SQL_DIR / folder))]
    return {file.rpartition("/")[2].removesuffix(".sql"): file for file in files}


def named(name: str) -> Any:
    """The function or row class of that name; None if there is neither."""
    files = statement_files()
    if name in files:
        return _function(files[name])
    if not name[:1].isupper():
        return None
    headers = (header_of(file) for file in files.values())  # of a row that no function has returned yet
    return next((row_class(header) for header in headers if header.row == name), None)


def row_class(header: Header) -> Any:
    """The class of a statement's rows; statements whose rows have the same name share it."""
    return _row_class(header.row, tuple(column.name for column in header.columns))


@functools.cache
def _row_class(row: str, columns: tuple[str, ...]) -> Any:
    module, _, name = row.rpartition(".")
    if module:
        return getattr(__import__(module, fromlist=[name]), name)
    return namedtuple(name, columns, module="kb.store.queries")


def _maker(row: Any, columns: tuple[str, ...]) -> Callable[[Any], Any]:
    if columns == row._fields:
        return row._make  # type: ignore[no-any-return]
    others = tuple("" if name in row._fields else name for name in columns)
    inner = {field: _maker(each, others) for field, each in _records(row).items() if {*others} & {*each._fields}}
    lacking = {field: row._field_defaults[field] for field in row._fields if field not in (*columns, *inner)}
    given = (*columns, *lacking, *inner)
    in_order, defaults, makers = itemgetter(*map(given.index, row._fields)), tuple(lacking.values()), inner.values()
    return lambda values: row._make(in_order((*values, *defaults, *[make(values) for make in makers])))


def _records(row: Any) -> dict[str, Any]:
    """The fields of a row class that are records, with their classes."""
    known = vars(sys.modules[row.__module__])
    classes = {
        name: known.get(getattr(kind, "__forward_arg__", ""), kind) for name, kind in row.__annotations__.items()
    }
    return {name: each for name, each in classes.items() if hasattr(each, "_fields")}


def _function(file: str) -> Callable[..., Any]:
    """The function that runs a statement and returns what its header declares."""
    header = header_of(file)
    if header.batch:

        def run_batch(db: apsw.Connection, rows: Iterable[Mapping[str, Any]], *, table: str | None = None) -> None:
            db.executemany(statement(file, table), rows)

        return run_batch
    if not header.shape:

        def execute(db: apsw.Connection, *, table: str | None = None, **params: Any) -> None:
            db.execute(statement(file, table), params).fetchall()  # a pragma that returns a row waits for its reader

        return execute
    if header.shape == "changes":

        def count(db: apsw.Connection, *, table: str | None = None, **params: Any) -> int:
            db.execute(statement(file, table), params)
            return db.changes()

        return count
    make = _maker(row_class(header), tuple(column.name for column in header.columns))
    if header.shape == "many":

        def fetch_all(db: apsw.Connection, *, table: str | None = None, **params: Any) -> list[Any]:
            return [make(values) for values in db.execute(statement(file, table), params)]

        return fetch_all
    if header.shape == "each":

        def iterate(db: apsw.Connection, *, table: str | None = None, **params: Any) -> Iterator[Any]:
            return map(make, db.execute(statement(file, table), params))

        return iterate

    def fetch_one(db: apsw.Connection, *, table: str | None = None, **params: Any) -> Any:
        values = next(iter(db.execute(statement(file, table), params)), None)
        return None if values is None else make(values)

    return fetch_one
