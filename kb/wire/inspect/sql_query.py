"""sql_query.v1: what a question binds in SQL; what `kb sql --query … --json` prints."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from kb.domain.results.inspection import BoundQuery


class SqlQueryV1(TypedDict):
    """A question, the words it was read as, the file of the statement that answers it, and its named parameters.

    Lists are JSON arrays as text, vectors hexadecimal digits of their bytes; null filters accept everything.
    """

    schema_version: Literal["sql_query.v1"]
    query: str
    terms: list[str]
    statement: str
    params: dict[str, str | int | float | None]


def sql_query_v1(bound: BoundQuery) -> SqlQueryV1:
    """The wire form of a bound question."""
    return {
        "schema_version": "sql_query.v1",
        "query": bound.text,
        "terms": list(bound.terms),
        "statement": str(bound.statement),
        "params": {name: _plain(value) for name, value in bound.params.items()},
    }


def _plain(value: object) -> str | int | float | None:
    if isinstance(value, bytes):
        return value.hex()
    assert value is None or isinstance(value, str | int | float)
    return value
