"""What a hit's document must be, as the parameters that every retrieval statement takes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TypedDict

from kb.domain.search import SearchFilters
from kb.domain.text import stored_text
from kb.errors import UsageError
from kb.store.connection import Connection
from kb.store.rows import retrieve_queries as queries

# Best first: `trust_min` accepts its level and what stands before it.
TRUST_LEVELS = ("primary", "secondary", "generated")


class FilterParams(TypedDict):
    """The parameters; NULL accepts everything, `filtered` is 0 when all of them do."""

    filtered: int
    tags_json: str | None
    lang: str | None
    doc_ids_json: str | None
    trust_json: str | None
    media: str | None


def filter_params(db: Connection, filters: SearchFilters) -> FilterParams:
    """The filters with trust levels spelled out, path globs and days resolved to documents.

    Raises: UsageError for an unknown trust level, a malformed glob, or what names no days.
    """
    among = _documents_among(db, filters)
    return {
        "filtered": int(filters != SearchFilters()),
        "tags_json": _json(tag.lstrip("#") for tag in filters.tags_any) if filters.tags_any else None,
        "lang": filters.lang and stored_text(filters.lang).lower(),
        "doc_ids_json": None if among is None else _json(among),
        "trust_json": _json(_trust_at_least(filters.trust_min)) if filters.trust_min else None,
        "media": filters.media and stored_text(filters.media),
    }


def keep_among(params: FilterParams, doc_ids: Sequence[str]) -> None:
    """Narrows what the parameters accept to these documents."""
    accepted = params["doc_ids_json"]
    params["filtered"] = 1
    params["doc_ids_json"] = _json(doc_ids if accepted is None else set(doc_ids).intersection(json.loads(accepted)))


def _documents_among(db: Connection, filters: SearchFilters) -> list[str] | None:
    """The documents that path globs and days leave; None where neither is given."""
    among = _documents_matching(db, filters.path_globs) if filters.path_globs else None
    if not filters.dated:
        return among
    from datetime import date  # few searches name days

    from kb.retrieve.dated import documents_dated

    dated = documents_dated(db, filters.dated, date.today())
    return list(dated) if among is None else [doc_id for doc_id in among if doc_id in set(dated)]


def _trust_at_least(level: str) -> tuple[str, ...]:
    if level not in TRUST_LEVELS:
        raise UsageError(f"unknown trust level {level!r}", "one of " + ", ".join(TRUST_LEVELS))
    return TRUST_LEVELS[: TRUST_LEVELS.index(level) + 1]


def _documents_matching(db: Connection, globs: tuple[str, ...]) -> list[str]:
    """The documents whose path matches any glob; gitignore syntax, so `*` stays inside one folder.

    Raises: UsageError for a glob that can match nothing.
    """
    from kb.domain.ingest.gitignore import MalformedPattern, PathPatterns

    try:
        patterns = PathPatterns(stored_text(glob) for glob in globs)
    except MalformedPattern as error:
        raise UsageError(
            f"--path-glob: {error}", "globs are as in .gitignore, e.g. 'notes/**'; a backslash keeps the next character"
        ) from error
    if not patterns:
        raise UsageError(
            f"--path-glob: {globs[0]!r} is empty or a comment",
            "globs are as in .gitignore; write \\# for a name with #",
        )
    return [row.doc_id for row in queries.select_document_paths(db) if patterns.matches(row.workspace_path)]


def _json(values: Iterable[str]) -> str:
    return json.dumps([stored_text(value) for value in values], ensure_ascii=False)
