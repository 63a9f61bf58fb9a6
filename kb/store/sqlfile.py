"""Binds each file of `sql/` to a typed Python stub: the file holds the statement, the stub its parameters and rows.

A stub names its file, takes the connection and the statement's parameters as keywords, and returns one of
`list[Row]`, `Iterator[Row]`, `Row | None`, `int` (rows changed) or `None`, where `Row` is a NamedTuple with the
statement's columns in order. `@sql_many` runs one statement for each of many parameter rows. A test prepares
every file against a migrated database and holds its parameters and columns against the stub.

A statement that serves tables of one form is written for the first; its stub's parameter `table`, a Literal of their
names, says which one it is run on: no parameter of SQL can name a table.
"""

from __future__ import annotations

import functools
import typing
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import apsw

P = ParamSpec("P")
R = TypeVar("R")


def _resource_dir(name: str) -> Path:
    """`sql/` or `migrations/`: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).parents[1]
    packed = package / name
    return packed if packed.is_dir() else package.parent / name


SQL_DIR = _resource_dir("sql")
MIGRATIONS_DIR = _resource_dir("migrations")


@functools.cache
def sql_text(name: str) -> str:
    """The text of one file of `sql/`."""
    return (SQL_DIR / name).read_text(encoding="utf-8")


@functools.cache
def statement(name: str, table: str | None = None) -> str:
    """The statement in `sql/<name>`, on `table` where it serves several."""
    return sql_text(name) if table is None else sql_text(name).replace(BINDINGS[name].tables[0], table)


def statement_label(name: str) -> str:
    """A statement with the version of its header: `search_lexical-2`."""
    version = sql_text(name).partition("\n-- version ")[2].partition("\n")[0]
    return f"{name.rpartition('/')[2].removesuffix('.sql')}-{version}"


class Binding:
    """What a stub promises of its file; the contract tests compare it with the prepared statement.

    Its annotations are read as they are written: evaluating them would cost a cold search more than its SQL.
    """

    __slots__ = ("many", "name", "stub")

    def __init__(self, name: str, stub: Callable[..., Any], *, many: bool) -> None:
        self.name = name
        self.stub = stub
        self.many = many

    @property
    def returns(self) -> str:
        """The stub's result as it is written: `list[Row]`, `Iterator[Row]`, `Row | None`, `int` or `None`."""
        written: str = self.stub.__annotations__["return"]
        return written

    @property
    def params(self) -> tuple[str, ...]:
        """The statement's named parameters."""
        if self.many:
            return tuple(self._class(self.stub.__annotations__["rows"])._fields)
        return tuple(name for name in self.stub.__annotations__ if name not in ("db", "table", "return"))

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that the statement serves, the one it is written for first; none where it is for its own alone."""
        return typing.get_args(typing.get_type_hints(self.stub).get("table"))

    @property
    def row(self) -> Any:
        """The row class of the statement's result, None where it returns no rows."""
        return None if self.returns in ("int", "None") else self._class(self.returns)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the result columns, in order."""
        return () if self.row is None else tuple(self.row._fields)

    def _class(self, written: str) -> Any:
        """The class that an annotation names: the `Row` of `list[Row]`."""
        name = written.removesuffix(" | None").removesuffix("]").rpartition("[")[2]
        return self.stub.__globals__[name]


BINDINGS: dict[str, Binding] = {}


def sql(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Bind the statement in `sql/<name>` to the decorated stub."""

    def bind(stub: Callable[P, R]) -> Callable[P, R]:
        binding = BINDINGS[name] = Binding(name, stub, many=False)
        runner: Callable[..., R] | None = None

        @functools.wraps(stub)
        def run(*args: P.args, **kwargs: P.kwargs) -> R:
            nonlocal runner
            runner = runner or _runner(binding)
            return runner(*args, **kwargs)

        return run

    return bind


def sql_many(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Bind the statement in `sql/<name>` to a stub that runs it once for each row of `rows`."""

    def bind(stub: Callable[P, R]) -> Callable[P, R]:
        binding = BINDINGS[name] = Binding(name, stub, many=True)
        is_in_order: bool | None = None

        def run(db: apsw.Connection, rows: Iterable[Any], *, table: str | None = None) -> None:
            nonlocal is_in_order
            text = statement(name, table)
            if is_in_order is None:  # then rows are bound as they are, in a fraction of the time
                import re  # a search stores no rows

                is_in_order = tuple(dict.fromkeys(re.findall(r":([a-z_]+)", text))) == binding.params
            db.executemany(text, rows if is_in_order else (row._asdict() for row in rows))

        return typing.cast("Callable[P, R]", functools.wraps(stub)(run))

    return bind


def _runner(binding: Binding) -> Callable[..., Any]:
    """The function that runs a binding's statement and shapes its rows as the stub's annotation says."""
    returns, row = binding.returns, binding.row
    if returns == "None":

        def execute(db: apsw.Connection, *, table: str | None = None, **params: Any) -> None:
            db.execute(statement(binding.name, table), params)

        return execute
    if returns == "int":

        def count(db: apsw.Connection, *, table: str | None = None, **params: Any) -> int:
            db.execute(statement(binding.name, table), params)
            return db.changes()

        return count
    if returns.startswith("list["):

        def fetch_all(db: apsw.Connection, *, table: str | None = None, **params: Any) -> list[Any]:
            return [row._make(values) for values in db.execute(statement(binding.name, table), params)]

        return fetch_all
    if returns.startswith("Iterator["):

        def iterate(db: apsw.Connection, *, table: str | None = None, **params: Any) -> Iterator[Any]:
            return map(row._make, db.execute(statement(binding.name, table), params))

        return iterate

    def fetch_one(db: apsw.Connection, *, table: str | None = None, **params: Any) -> Any:
        values = next(iter(db.execute(statement(binding.name, table), params)), None)
        return None if values is None else row._make(values)

    return fetch_one
