"""Answers a question with source code: words and names → one SQL statement → what is named first → hits.

Then both kinds of hits in one list: code that is named comes first, other code where it says more than the notes.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from kb.domain.citations import Citation, CodeCitation
from kb.domain.code_hits import CodeFound, CodeHit, FoundBy
from kb.domain.search import RetrievalDetail, SearchHit, SearchQuery, SearchResult
from kb.domain.symbols import Repository
from kb.language.lists import english_stopwords, pattern, table
from kb.language.names import dotted, parts_of, singular, squashed
from kb.records import NamedTuple
from kb.retrieve.code_question import ANY_KIND, FEW_WORDS, CodeQuestion, Place, names_tests, read_code_question
from kb.retrieve.filters import passing
from kb.retrieve.index import Index
from kb.retrieve.search import code_label
from kb.retrieve.snippet import code_snippet
from kb.store import queries
from kb.store.connection import Connection
from kb.store.sqlfile import statement_label

DEPTH = 200
# So many of the best are read for how they word it.
_LOOKED_AT = 30
_CONTAINERS = frozenset(
    ("class", "struct", "trait", "interface", "impl", "module", "namespace", "object", "enum", "record")
)
_NOTHING = '""'


@functools.cache
def _counting() -> Mapping[str, str]:
    return {row[0]: row[1] for row in table("code_weights")}


def weight(feature: str) -> float:
    """What a feature counts in the order of source code (`code_weights.tsv`); 0 of what counts nothing."""
    return float(_counting().get(feature, 0))


class Defined(NamedTuple):
    """A definition that begins in a chunk; lines as in `symbols`."""

    name: str
    qualified: str
    kind: str
    line_start: int
    defined_at: int
    line_end: int
    signature: str
    doc: str | None


class _Scored(NamedTuple):
    row: queries.CodeRow
    score: float
    share: float
    defined: Defined | None
    found_by: FoundBy = "words"
    lines: tuple[int, ...] = ()
    spelled: bool = False
    gained: float = 0.0


def search_source_code(
    index: Index,
    query: SearchQuery,
    terms: Sequence[str],
    *,
    snippet_chars: int,
    index_version: str,
) -> tuple[tuple[SearchHit, ...], CodeFound]:
    """The best hits among source code, at most `query.k`, and what each was found by.

    `terms` are those of the question among notes.

    A score is the share of the question's words that a chunk has, 0 to 1, and what the weights add.

    Raises: UsageError for a filter that cannot be.
    """
    question, among = read_code_question(index.db, query.text, terms), passing(index.db, query.filters)
    rows = queries.search_code(
        index.db,
        match_expr=question.match_expr or _NOTHING,
        names_json=json.dumps([squashed(name) for name in question.named]),
        places_json=json.dumps([[place.path.lstrip("./"), place.line] for place in question.places]),
        used_json=json.dumps(question.used),
        owner_expr=question.owner_expr or _NOTHING,
        doc_ids_json=among.doc_ids_json,
        passages_json=among.passages_json,
        sought_json=among.sought_code_json,
        symbol_glob=query.filters.symbol,
        symbol_kind=query.filters.symbol_kind,
        depth=max(DEPTH, 2 * query.k),
    )
    most = _bm25_max(index, [token for token, _ in question.tokens])
    # Of what is said to be a member, uses where its owner is mentioned are those of another one nowhere else.
    owned = any(row.by_owner for row in rows)
    scored = [
        _used(row, question) if row.uses_json and (row.by_owner or not owned) else _scored(row, question, most)
        for row in rows
    ]
    scored.sort(key=_order)
    best = _once(_worded(scored, query.text))[: query.k]
    shown = (*question.terms, *among.shown)
    hits = tuple(_hit(each, rank, shown, snippet_chars, index_version) for rank, each in enumerate(best, 1))
    found = tuple(_found_by(each, hit, question) for each, hit in zip(best, hits, strict=True))
    wants_uses = bool(question.used)
    words = question.words_beside, question.searched_share, question.is_how_to
    return hits, CodeFound(found, question.tokens, question.is_of_code, wants_uses, *words)


def _order(each: _Scored) -> tuple[float, str, int, str]:
    return -each.score, each.row.workspace_path, _span(each.row)["line_start"], each.row.chunk_id


def _worded(scored: Sequence[_Scored], text: str) -> list[_Scored]:
    """The same, the first of them found by words in the order of how far they also word it as the question does."""
    asked = word_pairs(text)
    looked_at = [
        each._replace(score=each.score + weight("worded") * share_of_pairs(asked, each.row.text))
        if each.found_by == "words"
        else each
        for each in scored[:_LOOKED_AT]
    ]
    return [*sorted(looked_at, key=_order), *scored[_LOOKED_AT:]]


def _found_by(each: _Scored, hit: SearchHit, question: CodeQuestion) -> CodeHit:
    return CodeHit(
        chunk_id=hit.chunk_id,
        chunk_rowid=each.row.chunk_rowid,
        score=hit.score,
        citation=hit.citation,
        text=each.row.text,
        first_line=_span(each.row)["line_start"],
        share=each.share,
        found_by=each.found_by,
        lines=each.lines,
        spelled=each.spelled,
        gained=each.gained,
        of_asked_kind=question.asked_kind == ANY_KIND or _is_called(each.row.workspace_path, question.asked_kind),
    )


def _once(scored: Sequence[_Scored]) -> list[_Scored]:
    """The chunks in their order, without later parts of a definition that is cited whole before them."""
    kept: list[_Scored] = []
    whole: set[tuple[str, str]] = set()
    for each in scored:
        key = (each.row.doc_id, _span(each.row).get("symbol") or "")
        if key in whole and each.defined is None:
            continue
        if each.found_by != "words" and each.defined is not None:
            whole.add((each.row.doc_id, each.defined.qualified))
        kept.append(each)
    return kept


def _bm25_max(index: Index, tokens: Sequence[str]) -> float:
    """The most that BM25 can give for these words: 2.2 · Σ idf, words that no code has included (k1 = 1.2)."""
    chunks = index.state.code_chunks
    counts = queries.select_code_counts(index.db, words_json=json.dumps(list(tokens)))
    odds = ((max(chunks - row.chunks, 0) + 0.5) / (row.chunks + 0.5) for row in counts)
    return 2.2 * sum(max(1e-6, math.log(each)) for each in odds)


def _scored(row: queries.CodeRow, question: CodeQuestion, most: float) -> _Scored:
    defines = [Defined(*each) for each in json.loads(row.defines_json)]
    share = min(1.0, row.lexical_score / most) if most else 0.0
    best, bonus = None, 0.0
    for each in defines:
        gained = _gained(each, row.workspace_path, question)
        if gained > bonus:
            best, bonus = each, gained
    bonus += _of_file(row, question)
    score = share + bonus
    if not defines:
        score += weight("no_definition")
    if row.workspace_path.endswith(".pyi"):
        score += -weight("stub") if question.wants_stubs else weight("stub")
    place = _place_in(row, question.places)
    if place is not None:
        score += weight("place") - question.places.index(place) / 100
        around = [each for each in defines if each.line_start <= place.line <= each.line_end]
        inmost = min(around, key=lambda each: each.line_end - each.line_start, default=None)
        return _Scored(row, score, share, inmost, "place", (place.line,))
    spelled = best is not None and best.name in question.spelled
    return _Scored(row, score, share, best, "words" if best is None else "definition", (), spelled, bonus)


def _used(row: queries.CodeRow, question: CodeQuestion) -> _Scored:
    lines = tuple(sorted(json.loads(row.uses_json or "[]")))
    score = weight("uses") + min(len(lines), 9) / 100 + _of_file(row, question)
    return _Scored(row, score, 1.0, None, "use", lines)


def _of_file(row: queries.CodeRow, question: CodeQuestion) -> float:
    if names_tests(row.workspace_path) and not question.wants_tests:
        return weight("in_tests")
    return weight("asked_kind") if _is_called(row.workspace_path, question.asked_kind) else 0.0


def _is_called(path: str, kind: str | None) -> bool:
    """Whether a folder or the file is called what the question asks which of: `tests/`, `migrations/`."""
    return kind is not None and kind in map(singular, parts_of(path))


def _span(row: queries.CodeRow) -> dict[str, Any]:
    """Where the chunk stands: a chunk of source code has one span."""
    span: dict[str, Any] = json.loads(row.source_spans_json)[0]
    return span


def _gained(defined: Defined, path: str, question: CodeQuestion) -> float:
    """What a definition gains by being named; a type more than what is called like it: its constructor, its impl."""
    if (defined.kind, defined.qualified) in question.objects:
        return weight("named") + weight("qualified")
    if defined.name not in question.named:
        return 0.0
    gained = weight("named" if defined.name in question.spelled else "named_in_other_case")
    whole = dotted(defined.qualified)
    for name in question.qualified:
        if f".{whole}".endswith(f".{name}"):
            gained += weight("qualified")
    gained += weight(f"kind.{defined.kind}")
    if any(f"/{path}".endswith(f"/{file.lstrip('./')}") for file in question.files):
        gained += weight("qualified")
    return gained if question.words_beside <= FEW_WORDS else gained * weight("among_words")


def _place_in(row: queries.CodeRow, places: Sequence[Place]) -> Place | None:
    """The place of a stack trace that the chunk holds: the end of one path is the other, whole names."""
    if not places:
        return None
    span = _span(row)
    for place in places:
        ours, theirs = "/" + row.workspace_path, "/" + place.path.lstrip("./")
        if (ours.endswith(theirs) or theirs.endswith(ours)) and span["line_start"] <= place.line <= span["line_end"]:
            return place
    return None


def _hit(each: _Scored, rank: int, terms: Sequence[str], snippet_chars: int, index_version: str) -> SearchHit:
    row = each.row
    snippet = code_snippet(row.text, terms, snippet_chars)
    shown = each.defined
    if shown is None:
        own = _span(row).get("symbol")
        shown = next((one for one in map(Defined._make, json.loads(row.defines_json)) if one.qualified == own), None)
    return SearchHit(
        rank=rank,
        score=round(each.score, 6),
        score_kind="code",
        chunk_id=row.chunk_id,
        doc_id=row.doc_id,
        doc_path=row.workspace_path,
        source_path=row.source_path,
        title=row.title,
        heading_path=tuple(json.loads(row.heading_path_json)),
        section_label=row.section_label,
        snippet=snippet.text,
        snippet_full_text=snippet.full_text,
        snippet_matches=snippet.matches,
        citation=_citation(each),
        retrieval=RetrievalDetail("lexical", row.lexical_score, rank),
        index_version=index_version,
        embedding_model=None,
        chunker_version=row.chunker_version,
        signature=shown.signature if shown else None,
        repository=None if row.repository_json is None else Repository(*json.loads(row.repository_json)),
    )


def _citation(each: _Scored) -> Citation:
    """The whole definition where the question names it, else the chunk; of a type its head."""
    span = _span(each.row)
    named = each.defined
    path, lang = each.row.workspace_path, span.get("lang")
    if named is not None and (named.kind not in _CONTAINERS or named.line_end <= span["line_end"]):
        return CodeCitation(path, named.line_start, named.line_end, named.qualified, named.kind, lang)
    symbol, kind = span.get("symbol"), span.get("symbol_kind")
    return CodeCitation(path, span["line_start"], span["line_end"], symbol, kind, lang)


_README = re.compile(r"readme\b", re.IGNORECASE).match


def with_code(index: Index, query: SearchQuery, result: SearchResult, *, snippet_chars: int) -> SearchResult:
    """The result with source code among its hits. Code keeps its order, and so do notes that people wrote.

    Raises: UsageError for a filter that cannot be.
    """
    code, found = search_source_code(
        index, query, result.terms, snippet_chars=snippet_chars, index_version=result.index_version
    )
    if not code:
        return result
    most = index.bm25_max(result.searched)
    notes = _explaining_first(index.db, result.hits, query.text)
    hits = merged(notes, [_share(hit, most) for hit in notes], code, found)
    return result._replace(
        hits=tuple(hit._replace(rank=rank) for rank, hit in enumerate(hits[: query.k], 1)),
        among_notes=result.hits,
        among_code=code,
        code=found,
        ranking_version="/".join(
            [
                result.ranking_version,
                statement_label("retrieve/search_code.sql"),
                _counting()["version"],
                code_label("code"),
            ]
        ),
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


_ENGLISH_OR_OTHER = re.compile(r"[A-Za-z]+|[^\W\d_A-Za-z]+")
# Words that begin alike are taken for one: retries, retried.
_BEGINNING_CHARS = 5


def word_pairs(text: str) -> frozenset[tuple[str, str]]:
    """The pairs of words that follow one another in a text, words that say nothing left out."""
    said = [word for word in map(str.lower, _ENGLISH_OR_OTHER.findall(text)) if word not in english_stopwords()]
    return frozenset(pairwise(word[:_BEGINNING_CHARS] for word in said))


def share_of_pairs(asked: frozenset[tuple[str, str]], text: str) -> float:
    """The part of a question's pairs, 0 to 1, that a text has; 0 for a question of one word."""
    return len(asked & word_pairs(text)) / len(asked) if asked else 0.0
