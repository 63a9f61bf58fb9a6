"""sql_query.v1: what a question binds in SQL; what `kb sql --query … --json` prints."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from kb.operations.sql_shell import BoundQuery


class SqlParamsV1(TypedDict):
    """The named parameters of the statement; null filters accept everything, lists are JSON arrays as text."""

    match_expr: str
    filtered: int
    tags_json: str | None
    lang: str | None
    doc_ids_json: str | None
    trust_json: str | None
    media: str | None
    depth: int
    k: int


class SqlQueryV1(TypedDict):
    """A question, the words it was read as, the file of the statement that answers it, and its parameters."""

    schema_version: Literal["sql_query.v1"]
    query: str
    terms: list[str]
    statement: str
    params: SqlParamsV1


def sql_query_v1(bound: BoundQuery) -> SqlQueryV1:
    """The wire form of a bound question."""
    return {
        "schema_version": "sql_query.v1",
        "query": bound.text,
        "terms": list(bound.terms),
        "statement": str(bound.statement),
        "params": {
            "match_expr": bound.params["match_expr"],
            "filtered": bound.params["filtered"],
            "tags_json": bound.params["tags_json"],
            "lang": bound.params["lang"],
            "doc_ids_json": bound.params["doc_ids_json"],
            "trust_json": bound.params["trust_json"],
            "media": bound.params["media"],
            "depth": bound.params["depth"],
            "k": bound.params["k"],
        },
    }
