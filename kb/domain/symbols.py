"""What source code defines, and where it is used: the rows of `symbols` and `symbol_refs`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Symbol:
    """One definition of a source file; lines count from 1, both included.

    `qualified` joins the names around it by dots: `Foo.bar`. `kind` is `function`, `method`, `class`, … ; of files that
    are not source code the part: `stage`, `service`, `section`. `line_start` is the first line of the comment,
    decorators or attributes that belong to it, `defined_at` the line where the definition itself begins.
    """

    name: str
    qualified: str
    kind: str
    lang: str
    parent: str | None
    signature: str
    doc: str | None
    line_start: int
    defined_at: int
    line_end: int
    visibility: str


@dataclass(frozen=True, slots=True)
class Reference:
    """A name that is called or constructed at a line, from inside the definition `source` (None: outside of any)."""

    name: str
    source: str | None
    line: int
