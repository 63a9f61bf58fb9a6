"""Hits among notes and hits in source code → one list: code that is named first, the rest where it says more."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from kb.domain.code_hits import CodeFound
from kb.domain.search import SearchHit, SearchQuery, SearchResult
from kb.language.lists import pattern
from kb.retrieve.code.search import search_source_code, weight, weights_version
from kb.retrieve.ranking_version import code_ranking
from kb.retrieve.terms import bm25_max
from kb.store import queries
from kb.store.connection import Connection

_README = re.compile(r"readme\b", re.IGNORECASE).match


def with_code(db: Connection, query: SearchQuery, result: SearchResult, *, snippet_chars: int) -> SearchResult:
    """The result with source code among its hits. Code keeps its order, and so do notes that people wrote.

    Raises: UsageError for a filter that cannot be.
    """
    code, found = search_source_code(
        db, query, result.terms, snippet_chars=snippet_chars, index_version=result.index_version
    )
    if not code:
        return result
    most = bm25_max(db, result.searched) if result.searched else None
    notes = _explaining_first(db, result.hits, query.text)
    hits = merged(notes, [_share(hit, most) for hit in notes], code, found)
    return result._replace(
        hits=tuple(hit._replace(rank=rank) for rank, hit in enumerate(hits[: query.k], 1)),
        among_notes=result.hits,
        among_code=code,
        code=found,
        ranking_version=code_ranking(result.ranking_version, weights_version()),
    )


def _explaining_first(db: Connection, hits: Sequence[SearchHit], text: str) -> list[SearchHit]:
    """The notes in the order of their scores, with the words of those that explain little counted less.

    Where there is code, pages that say they were generated list it again (options, statements, tools), and a changelog
    says of everything that it was changed, both in most of a question's words.
    """
    rows = queries.select_generated_documents(db, doc_ids_json=json.dumps([hit.doc_id for hit in hits]))
    counted = {row.doc_id: weight("generated") for row in rows}
    if not pattern("code_words", "of_changes", re.IGNORECASE).search(text):
        is_changelog = pattern("code_words", "changelog", re.IGNORECASE).fullmatch
        named = {hit.doc_id for hit in hits if is_changelog(hit.doc_path.rpartition("/")[2])}
        counted |= dict.fromkeys(named, weight("changelog"))
    return sorted(hits, key=lambda hit: (1 - counted.get(hit.doc_id, 1.0)) * _of_words(hit) - hit.score)


def _of_words(hit: SearchHit) -> float:
    """What of a score a hit's words give: of a sum of both all but what its meaning gives, else all."""
    if hit.score_kind not in ("late", "linear"):
        return hit.score
    meaning = hit.retrieval.late_score or hit.retrieval.vector_score or 0.0
    return hit.score - meaning


def merged(
    notes: Sequence[SearchHit], shares: Sequence[float], code: Sequence[SearchHit], found: CodeFound
) -> list[SearchHit]:
    """Both in one order; `shares` are how much of the question's words each note has, 0 to 1.

    Code is searched by `found.searched_share` of those words. What is not named in it comes before a note where its
    share of all of them is larger by a margin: comments must not drown notes. The margin is wider where it is asked
    how, when or why, which notes explain, and none where it is asked which of the files there are like this one. What
    such a question names comes first all the same, unless a note that is no README has more of its words. A note in
    another language than the question's cannot have its words, and counts as if it had some.
    """
    order: list[SearchHit] = []
    at = 0
    margin = weight("margin") + (weight("how_to") if found.is_how_to else 0.0)
    for hit, of_code in zip(code, found.hits, strict=True):
        own = of_code.share * found.searched_share - (0.0 if of_code.of_asked_kind or of_code.is_named else margin)
        while at < len(notes) and (
            not of_code.is_named or (found.is_how_to and not _README(notes[at].doc_path.rpartition("/")[2]))
        ):
            least = 0.0 if notes[at].retrieval.is_own else weight("other_language")
            if own >= max(least, *shares[at:]):
                break
            order.append(notes[at])
            at += 1
        order.append(hit)
    return [*order, *notes[at:]]


def _share(hit: SearchHit, most: float | None) -> float:
    if hit.retrieval.lexical_share is not None:
        return hit.retrieval.lexical_share
    return (hit.retrieval.lexical_score or 0.0) / most if most else 0.0
