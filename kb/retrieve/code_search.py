"""Searches source code: words and names → one SQL statement → named definitions first → hits.

Then hits in code are merged with hits in notes: named code first, other code if it has more of the question's words.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from kb.domain.citations import Citation, CodeCitation
from kb.domain.code_hits import CodeFound, CodeHit, CodeRow, Defined, FoundBy
from kb.domain.search import Passage, SearchQuery, SearchResult
from kb.domain.text import file_name
from kb.language.lists import english_stopwords, pattern, table
from kb.language.names import dotted, parts_of, singular, squashed
from kb.retrieve.code_question import ANY_KIND, FEW_WORDS, CodeQuestion, TraceLine, names_tests, read_code_question
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
    """The weight of a feature in the score of source code (`code_weights.tsv`); 0 if the table has none for it."""
    return float(_counting().get(feature, 0))


def search_source_code(
    index: Index,
    query: SearchQuery,
    terms: Sequence[str],
    *,
    snippet_chars: int,
    index_version: str,
) -> CodeFound:
    """The best hits in source code, at most `query.k`. `terms` are the question's search terms among notes.

    A score is the share of the question's words that a chunk has, 0 to 1, plus the weights of its features.

    Raises: UsageError for an invalid filter.
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
    return CodeFound(
        hits=tuple(
            each._replace(
                passage=_shown(each, shown, snippet_chars)._replace(
                    rank=rank,
                    retrieval=each.passage.retrieval._replace(lexical_rank=rank),
                    index_version=index_version,
                ),
                of_asked_kind=question.asked_kind == ANY_KIND
                or _is_called(each.passage.workspace_path, question.asked_kind),
            )
            for rank, each in enumerate(best, 1)
        ),
        tokens=question.tokens,
        is_of_code=question.is_of_code,
        wants_uses=bool(question.used),
        words_beside=question.words_beside,
        searched_share=question.searched_share,
        is_how_to=question.is_how_to,
    )


def _order(each: CodeHit) -> tuple[float, str, int, str]:
    return -each.passage.score, each.passage.workspace_path, each.first_line, each.passage.chunk_id


def _worded(scored: Sequence[CodeHit], text: str) -> list[CodeHit]:
    """The hits in a new order: one found by words gains score for each pair of neighbouring question words in it.

    Only the first `_LOOKED_AT` hits are scored again and sorted; the others follow in their old order.
    """
    asked = word_pairs(text)
    looked_at = [
        each._replace(passage=_gaining(each.passage, weight("worded") * share_of_pairs(asked, each.passage.text)))
        if each.found_by == "words"
        else each
        for each in scored[:_LOOKED_AT]
    ]
    return [*sorted(looked_at, key=_order), *scored[_LOOKED_AT:]]


def _gaining(passage: Passage, score: float) -> Passage:
    return passage._replace(score=passage.score + score)


def _once(scored: Sequence[CodeHit]) -> list[CodeHit]:
    """The hits in order, without parts of a definition that an earlier hit cites as a whole."""
    kept: list[CodeHit] = []
    whole: set[tuple[str, str]] = set()
    for each in scored:
        key = (each.passage.doc_id, each.span.get("symbol") or "")
        if key in whole and each.defined is None:
            continue
        if each.found_by != "words" and each.defined is not None:
            whole.add((each.passage.doc_id, each.defined.qualified))
        kept.append(each)
    return kept


def _bm25_max(index: Index, tokens: Sequence[str]) -> float:
    """The highest possible BM25 for these words, including words that no code has: 2.2 · Σ idf (k1 = 1.2)."""
    chunks = index.state.code_chunks
    counts = queries.select_code_counts(index.db, words_json=json.dumps(list(tokens)))
    odds = ((max(chunks - row.chunks, 0) + 0.5) / (row.chunks + 0.5) for row in counts)
    return 2.2 * sum(max(1e-6, math.log(each)) for each in odds)


def _scored(row: CodeRow, question: CodeQuestion, most: float) -> CodeHit:
    found, defines = row.passage, [Defined(*each) for each in json.loads(row.defines_json)]
    share = min(1.0, (found.retrieval.lexical_score or 0.0) / most) if most else 0.0
    best, bonus = None, 0.0
    for each in defines:
        gained = _gained(each, found.workspace_path, question)
        if gained > bonus:
            best, bonus = each, gained
    bonus += _of_file(found, question)
    score = share + bonus
    if not defines:
        score += weight("no_definition")
    if found.workspace_path.endswith(".pyi"):
        score += -weight("stub") if question.wants_stubs else weight("stub")
    place = _place_in(found, question.places)
    if place is not None:
        score += weight("place") - question.places.index(place) / 100
        around = [each for each in defines if each.line_start <= place.line <= each.line_end]
        inmost = min(around, key=lambda each: each.line_end - each.line_start, default=None)
        return CodeHit(found._replace(score=score), share, defines, inmost, "place", (place.line,))
    spelled = best is not None and best.name in question.spelled
    found_by: FoundBy = "words" if best is None else "definition"
    return CodeHit(found._replace(score=score), share, defines, best, found_by, (), spelled, bonus)


def _used(row: CodeRow, question: CodeQuestion) -> CodeHit:
    lines = tuple(sorted(json.loads(row.uses_json or "[]")))
    score = weight("uses") + min(len(lines), 9) / 100 + _of_file(row.passage, question)
    defines = [Defined(*each) for each in json.loads(row.defines_json)]
    return CodeHit(row.passage._replace(score=score), 1.0, defines, None, "use", lines)


def _of_file(row: Passage, question: CodeQuestion) -> float:
    if names_tests(row.workspace_path) and not question.wants_tests:
        return weight("in_tests")
    return weight("asked_kind") if _is_called(row.workspace_path, question.asked_kind) else 0.0


def _is_called(path: str, kind: str | None) -> bool:
    """Whether the file or a folder above it is named for the requested kind: `tests/`, `migrations/`."""
    return kind is not None and kind in map(singular, parts_of(path))


def _gained(defined: Defined, path: str, question: CodeQuestion) -> float:
    """The score that a hit gains if its definition is named; a type gains more than its constructor or impl."""
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


def _place_in(row: Passage, places: Sequence[TraceLine]) -> TraceLine | None:
    """The place of a stack trace that is in the chunk, if any; one of two paths may be the end of the other."""
    if not places:
        return None
    span = json.loads(row.source_spans_json)[0]
    for place in places:
        ours, theirs = "/" + row.workspace_path, "/" + place.path.lstrip("./")
        if (ours.endswith(theirs) or theirs.endswith(ours)) and span["line_start"] <= place.line <= span["line_end"]:
            return place
    return None


def _shown(hit: CodeHit, terms: Sequence[str], snippet_chars: int) -> Passage:
    """The passage of a hit with its snippet, its citation and the signature of its definition."""
    own = hit.span.get("symbol")
    shown = hit.defined or next((each for each in hit.defines if each.qualified == own), None)
    return hit.passage._replace(
        score=round(hit.passage.score, 6),
        score_kind="code",
        shown=code_snippet(hit.passage.text, terms, snippet_chars),
        cited=_citation(hit),
        signature=shown.signature if shown else None,
    )


def _citation(hit: CodeHit) -> Citation:
    """The citation of the definition that the question names (for a long type only its head), or else of the chunk."""
    span, named = hit.span, hit.defined
    path, lang = hit.passage.workspace_path, span.get("lang")
    if named is not None and (named.kind not in _CONTAINERS or named.line_end <= span["line_end"]):
        return CodeCitation(path, named.line_start, named.line_end, named.qualified, named.kind, lang)
    symbol, kind = span.get("symbol"), span.get("symbol_kind")
    return CodeCitation(path, span["line_start"], span["line_end"], symbol, kind, lang)


_README = re.compile(r"readme\b", re.IGNORECASE).match


def with_code(index: Index, query: SearchQuery, result: SearchResult, *, snippet_chars: int) -> SearchResult:
    """The result with hits in source code merged in. Both code and notes that people wrote keep their order.

    Raises: UsageError for an invalid filter.
    """
    found = search_source_code(
        index, query, result.terms, snippet_chars=snippet_chars, index_version=result.index_version
    )
    if not found.hits:
        return result
    most = index.bm25_max(result.searched)
    notes = _explaining_first(index.db, result.hits, query.text)
    hits = merged(notes, [_share(hit, most) for hit in notes], found)
    return result._replace(
        hits=tuple(hit._replace(rank=rank) for rank, hit in enumerate(hits[: query.k], 1)),
        among_notes=result.hits,
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


def _explaining_first(db: Connection, hits: Sequence[Passage], text: str) -> list[Passage]:
    """The notes by score, with a lower weight on the words of generated pages and changelogs.

    Generated pages repeat code (options, statements, tools), and a changelog names every change: both have most words
    of a question and explain little.
    """
    rows = queries.select_generated_documents(db, doc_ids_json=json.dumps([hit.doc_id for hit in hits]))
    counted = {row.doc_id: weight("generated") for row in rows}
    if not pattern("code_words", "of_changes", re.IGNORECASE).search(text):
        is_changelog = pattern("code_words", "changelog", re.IGNORECASE).fullmatch
        named = {hit.doc_id for hit in hits if is_changelog(file_name(hit.doc_path))}
        counted |= dict.fromkeys(named, weight("changelog"))
    return sorted(hits, key=lambda hit: (1 - counted.get(hit.doc_id, 1.0)) * _of_words(hit) - hit.score)


def _of_words(hit: Passage) -> float:
    """The part of a hit's score that comes from words; if the score is a sum, the part by meaning is subtracted."""
    if hit.score_kind not in ("late", "linear"):
        return hit.score
    return hit.score - (hit.retrieval.late_score or hit.retrieval.vector_score or 0.0)


def merged(notes: Sequence[Passage], shares: Sequence[float], found: CodeFound) -> list[Passage]:
    """Notes and code in one order; `shares` are the shares of the question's words that the notes have, 0 to 1.

    Code that the question names comes first. Other code comes before a note if its share of the question's words is
    larger by a margin, so that comments do not drown notes. The margin is wider for questions of how, when and why,
    which notes explain, and 0 for code of the requested kind. For such questions a note, unless it is a README, comes
    before named code if it has more of the words. As code is searched by only `found.searched_share` of the words, its
    share is scaled. A note in another language cannot have the question's words, so it counts as if it had some.
    """
    order: list[Passage] = []
    at = 0
    margin = weight("margin") + (weight("how_to") if found.is_how_to else 0.0)
    for of_code in found.hits:
        own = of_code.share * found.searched_share - (0.0 if of_code.of_asked_kind or of_code.is_named else margin)
        while at < len(notes) and (
            not of_code.is_named or (found.is_how_to and not _README(file_name(notes[at].doc_path)))
        ):
            least = 0.0 if notes[at].retrieval.is_own else weight("other_language")
            if own >= max(least, *shares[at:]):
                break
            order.append(notes[at])
            at += 1
        order.append(of_code.passage)
    return [*order, *notes[at:]]


def _share(hit: Passage, most: float | None) -> float:
    if hit.retrieval.lexical_share is not None:
        return hit.retrieval.lexical_share
    return (hit.retrieval.lexical_score or 0.0) / most if most else 0.0


_ENGLISH_OR_OTHER = re.compile(r"[A-Za-z]+|[^\W\d_A-Za-z]+")
# Words that begin alike are taken for one: retries, retried.
_BEGINNING_CHARS = 5


def word_pairs(text: str) -> frozenset[tuple[str, str]]:
    """The pairs of consecutive words of a text, without stop words."""
    said = [word for word in map(str.lower, _ENGLISH_OR_OTHER.findall(text)) if word not in english_stopwords()]
    return frozenset(pairwise(word[:_BEGINNING_CHARS] for word in said))


def share_of_pairs(asked: frozenset[tuple[str, str]], text: str) -> float:
    """The share of a question's word pairs that a text has, 0 to 1; 0 for a question of one word."""
    return len(asked & word_pairs(text)) / len(asked) if asked else 0.0
