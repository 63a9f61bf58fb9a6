"""Searches a page at a time, within a budget of tokens.

The search for each page is for the hits of all pages so far and the new one, and hits already shown are left out. So no
hit comes twice and none is skipped, even if a deeper search changes the order.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any
from zlib import crc32

from kb.domain.results.searching import SearchPage
from kb.domain.search import Passage, SearchQuery, SearchResult
from kb.errors import InvalidCursor
from kb.language.detect import query_language
from kb.operations.opening.base import Base, ConnectedBase
from kb.operations.opening.paging import TokenCounter, corpus_revision, read_cursor, token_counter, write_cursor
from kb.operations.search.search import newest_first, search
from kb.retrieve.filters import stored_values
from kb.retrieve.notes import note
from kb.store import queries

# Beyond so many passages, other words find more than another page.
MOST_SHOWN = 300

_ID_CHARS = 8
# A snippet is not cut shorter.
_LEAST_CHARS = 40
# Tokens of the number, score and line ends of a hit.
_HIT_TOKENS = 24


def search_page(
    base: Base,
    query: SearchQuery,
    *,
    also: Sequence[str] = (),
    other_language: bool = False,
    cursor: str | None = None,
    max_tokens: int | None = None,
    shown_as: Callable[[SearchPage], str] | None = None,
) -> SearchPage:
    """The next `query.k` hits, or as many of them as fit `max_tokens`, but at least one.

    `also` are further questions with the same filters, whose hits are fused with those of the first. With
    `other_language`, the last hits of the first page are the best passages in another language than the question's. The
    budget counts the tokens of the hits; with `shown_as`, those of the text that it makes of the page. Raises:
    InvalidCursor, also for a cursor of another question; StaleCursor; and errors of a search.
    """
    with base.snapshot() as base:
        revision = corpus_revision(base.db)
        mark = _mark(query, also)
        shown = [] if cursor is None else _shown(mark, read_cursor("search", revision, cursor))
        wanted = query._replace(k=len(shown) + query.k + 1)
        result, found_by = _fused(base, wanted, also) if also else (search(base, wanted), {})
        new = [hit for hit in result.hits if hit.chunk_id[:_ID_CHARS] not in shown]
        # Words and meaning favour the language of a question. Of 200 questions whose page is in the other one, 64 %
        # have it among 8 hits without these places, 82 % with them; of 200 whose page is in their own, one loses it.
        wants_other = other_language and not shown and result.query.mode != "lexical"
        places = query.k * 3 // 8 if wants_other else 0
        other, near = near_in_other_language(base, query._replace(k=places), also, result.hits[: query.k])
        kept = [hit for hit in new if hit.chunk_id not in {each.chunk_id for each in near}]
        new = [*kept[: query.k - len(near)], *near, *kept[query.k - len(near) :]]
        counter = token_counter(base.config, base.models)
        hits = tuple(new[: query.k])
        ids = json.dumps(sorted({hit.doc_id for hit in hits}))
        dates = {row.doc_id: row.day for row in queries.select_own_dates(base.db, doc_ids_json=ids)}
        result = result._replace(query=result.query._replace(k=query.k))

        def page_of(hits: tuple[Passage, ...]) -> SearchPage:
            told = [*shown, *(hit.chunk_id[:_ID_CHARS] for hit in hits)]
            goes_on = len(hits) < len(new) and len(told) < MOST_SHOWN
            state = {"q": mark, "s": "".join(told)}
            next_cursor = write_cursor("search", revision, state) if goes_on else None
            numbers = [str(number) for number, hit in enumerate(hits, 1) if hit in near]
            at = "-".join(dict.fromkeys((numbers[0], numbers[-1]))) if numbers else ""
            said = note(query.text, "other language", at, other) if other and at else None
            found = result._replace(hits=hits, note="; ".join(filter(None, (result.note, said))) or None)
            page = SearchPage(found, hits, len(shown) + 1, dates, 0, counter.name, next_cursor, revision, found_by)
            return page._replace(
                tokens=counter.count(shown_as(page)) if shown_as else sum(_tokens(hit, counter) for hit in hits)
            )

        page = page_of(hits)
        if max_tokens is not None and page.tokens > max_tokens:
            page = page_of(_within(hits, max_tokens, counter))
        while shown_as and max_tokens is not None and page.hits and page.tokens > max_tokens:
            *others, last = page.hits
            if not others and len(last.snippet) < _LEAST_CHARS:
                break
            text = last.snippet[: len(last.snippet) * 3 // 4].rstrip() + "…"
            cut = last._replace(shown=last.shown._replace(text=text))
            page = page_of(tuple(others) or (cut,))
        return page


def _within(hits: tuple[Passage, ...], max_tokens: int, counter: TokenCounter) -> tuple[Passage, ...]:
    """The hits that fit, at least one."""
    tokens = list(accumulate(_tokens(hit, counter) for hit in hits))
    return hits[: max(1, bisect_right(tokens, max_tokens))]


def _tokens(hit: Passage, counter: TokenCounter) -> int:
    """The tokens of a hit's shown text; the counter caches the words that it has cut before."""
    return counter.count("\n".join((hit.title, hit.citation.to_uri(), *hit.heading_path, hit.snippet))) + _HIT_TOKENS


def _fused(
    base: ConnectedBase, query: SearchQuery, also: Sequence[str]
) -> tuple[SearchResult, Mapping[str, tuple[int, ...]]]:
    """The hits of several questions by reciprocal rank fusion (Cormack et al. 2009), and the questions of each hit.

    The best passage of each question comes first, as otherwise mediocre passages that all questions find would win. A
    passage has the snippet for the question that ranks it best. Questions are numbered from 1.
    """
    each_asked = (query._replace(text=text, sort="score", judged=False) for text in (query.text, *also))
    results = [search(base, each) for each in each_asked]
    rrf_k = base.config.search.rrf_k
    ranked = [(rank, number, hit) for number, each in enumerate(results, 1) for rank, hit in enumerate(each.hits, 1)]
    scores: dict[str, float] = {}
    found_by: dict[str, tuple[int, ...]] = {}
    best: dict[str, Passage] = {}
    for rank, number, hit in sorted(ranked, key=lambda each: each[:2]):
        scores[hit.chunk_id] = scores.get(hit.chunk_id, 0.0) + 1 / (rrf_k + rank)
        found_by[hit.chunk_id] = (*found_by.get(hit.chunk_id, ()), number)
        best.setdefault(hit.chunk_id, hit)
    firsts = {each.hits[0].chunk_id for each in results if each.hits}
    # At one score, the earlier rank and question first.
    order = sorted(best, key=lambda chunk: (chunk not in firsts, -scores[chunk]))
    hits = tuple(
        best[chunk]._replace(rank=rank, score=scores[chunk], score_kind="rrf") for rank, chunk in enumerate(order, 1)
    )
    notes = dict.fromkeys(each.note for each in results if each.note)
    result = results[0]._replace(hits=hits, note="; ".join(notes) or None)
    return (newest_first(base, result, query) if query.sort == "date" else result), found_by


def near_in_other_language(
    base: ConnectedBase, query: SearchQuery, also: Sequence[str] = (), found: Sequence[Passage] = ()
) -> tuple[str | None, tuple[Passage, ...]]:
    """The commonest language besides the question's, and its `query.k` best passages that are not in `found`.

    (None, ()) for a question by words alone, if the filters name a language, or if `found` has enough of them.
    """
    own = query_language(query.text)
    other = next((each for each in stored_values(base.db, "lang") if each not in (own, "und")), None)
    enough = sum(hit.lang == other for hit in found) >= query.k
    if other is None or enough or query.filters.lang or query.sort == "date":
        return None, ()
    wanted = query._replace(filters=query.filters._replace(lang=other), judged=False)
    result = _fused(base, wanted, also)[0] if also else search(base, wanted)
    known = {hit.chunk_id for hit in found}
    near = tuple(hit for hit in result.hits[: query.k] if hit.chunk_id not in known)
    return (None, ()) if result.query.mode == "lexical" else (other, near)


def _mark(query: SearchQuery, also: Sequence[str]) -> int:
    """A checksum of questions with their filters, without the number of hits, which may change."""
    asked = [query.text, *also, query.mode, list(query.filters), *([query.sort] if query.sort != "score" else [])]
    return crc32(json.dumps(asked, ensure_ascii=False).encode())


def _shown(mark: int, state: dict[str, Any]) -> list[str]:
    told = state.get("s")
    if not isinstance(told, str) or len(told) >= MOST_SHOWN * _ID_CHARS:
        raise InvalidCursor("this is no cursor of search", "search again without a cursor")
    if state.get("q") != mark:
        raise InvalidCursor(
            "this cursor is of another question", "hand it back with the same query, mode and filters, or leave it out"
        )
    return [told[at : at + _ID_CHARS] for at in range(0, len(told), _ID_CHARS)]
