"""Answers questions with passages: one, or a stream of them over one open knowledge base."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kb.domain.search import SearchQuery, SearchResult
from kb.operations.reading import reading
from kb.retrieve.search import search

Searcher = Callable[[SearchQuery], SearchResult]


@contextmanager
def open_searcher(sqlite: Path, *, snippet_chars: int) -> Iterator[Searcher]:
    """A function that answers one question after another.

    Raises: NotIndexed and its kin; the function itself raises QuerySyntaxError.
    """
    with reading(sqlite) as reader:
        yield lambda query: search(reader.db, query, snippet_chars=snippet_chars, index_version=reader.index_version)
