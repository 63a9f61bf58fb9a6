"""Looks up a question of one or two words: passages that contain all of them come first, whatever their rank; and the
section or document of a term that a question wants defined.

the question's words → passages with them, by the index → candidates of every ranking → first among its hits

A word ends at white space (an identifier, a number, a path), or is in double quotes. The index says which passages
contain a word; as English words are indexed by their stems, the text is checked too. `held_first` runs last.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from kb.domain.search import Passage, SearchQuery, SearchResult, Substitution, Term
from kb.language.definitions import defined_term, folded_name
from kb.language.lists import is_stopword, words
from kb.language.words import bare_word
from kb.retrieve.filters import passing
from kb.retrieve.index import Index
from kb.retrieve.terms import MAX_WORDS_CHARS, QueryTerms, all_of, plain, words_in
from kb.store import queries

MOST_WORDS = 2
SHOWN = 10  # hits that are looked at
_ACROSS = 3  # of them
# So many of the passages that hold a question are known by their grade.
_DEPTH = 500

_SET_APART = re.compile(r'["“]([^"“”]+)["”]|[^\s"“”]+')
_EDGES = re.compile(r"^[\W_]+|[\W_]+$")
_NO_WORD = r"[\W_]+"
_MARKS = re.compile(r"[*_`]+")
_LATIN_WITH_PARTICLE = r"(?s)(.*[^\W_가-힣])([가-힣]{1,3})"  # compiled when a word is looked up


class _Asked(NamedTuple):
    """FTS5 expressions for one word: as written, without its particle, and by its morphemes.

    `forms` are the strings of the first two; `patterns` are GLOB patterns for a text that has a Latin word as written.
    """

    exact: str
    word: str
    holds: str
    forms: tuple[str, ...]
    patterns: tuple[str, ...] = ()


def look_up(index: Index, query: SearchQuery, read: QueryTerms) -> QueryTerms:
    """The terms, with the passages that contain all words of the question; unchanged for a longer question.

    Raises: UsageError for an invalid filter.
    """
    text = read.corrected or plain(query.text)
    if read.raw or query.mode == "vector" or len(text) > MAX_WORDS_CHARS:
        return read
    apart = [_EDGES.sub("", match[1] or match[0]) for match in _SET_APART.finditer(text)]
    asked = [word for word in apart if word]
    if not 0 < len(asked) <= MOST_WORDS:
        return read
    telling = [word for word in asked if not is_stopword(word)] or asked
    parts = [_asked(index, word, read.substitutions) for word in telling]
    exact = " AND ".join(each.exact for each in parts)
    word = " AND ".join(each.word for each in parts)
    holds = " AND ".join(each.holds for each in parts)
    patterns = [each.patterns for each in parts if each.patterns]
    among = passing(index.db, query.filters)
    held = queries.select_held(
        index.db,
        exact_expr=exact,
        word_expr=None if word == exact else word,
        holds_expr=None if holds == word else holds,
        written_json=json.dumps(patterns) if patterns else None,
        doc_ids_json=among.doc_ids_json,
        passages_json=among.passages_json,
        depth=_DEPTH,
    )
    if not held:
        return read
    searched = {term.to_match() for term in read.searched}.union(read.beside)
    forms = dict.fromkeys(form for each in parts for form in each.forms if form not in searched)
    match_expr = " OR ".join([read.match_expr, *forms])
    return read._replace(match_expr=match_expr, beside=(*read.beside, *forms), held=tuple(held))


def held_among_notes(read: QueryTerms, k: int) -> list[queries.Held]:
    """The first k passages of notes that contain the question's words. They become hits whatever rank they have."""
    return [each for each in read.held if not each.is_code][:k]


def wanted_term(query: SearchQuery, read: QueryTerms) -> str | None:
    """The term that a question wants defined; None if it asks for something else."""
    if read.raw or query.mode == "vector":
        return None
    return defined_term(" ".join((read.corrected or plain(query.text)).split()))


def held_first(
    result: SearchResult, query: SearchQuery, held: Sequence[queries.Held], term: str | None = None
) -> SearchResult:
    """The result with those hits first that contain the question's words, by grade; at most `query.k` hits.

    Before them comes the beginning of a section or document that is headed by the term the question wants defined, if a
    part of it is one of the first `SHOWN` hits. A definition in source code that the question names has the highest
    grade. A hit in another language than the question cannot contain its words and comes later, but the best three of
    the first ten stay among the ten. Hits with the same kind of score exchange their scores, so that scores fall with
    the rank.
    """
    headed = None if term is None else _headed_by(term, result.hits)
    if not held and term is None and result.query.k == query.k:
        return result
    grades = {each.chunk_id: each.grade for each in held}
    named = (
        [] if result.code is None else [each for each in result.code.hits if each.is_named and not each.in_other_case]
    )
    highest = max(grades.values(), default=0)
    grades |= dict.fromkeys((each.passage.chunk_id for each in named), highest)
    if headed is not None:
        grades[headed] = highest + 1

    def ordered(hits: Sequence[Passage]) -> tuple[Passage, ...]:
        order = sorted(hits, key=lambda hit: -grades.get(hit.chunk_id, 0))
        others = (hit for hit in hits[:SHOWN] if not hit.retrieval.is_own and hit.chunk_id not in grades)
        across = list(islice(others, _ACROSS))
        if query.k >= SHOWN and any(hit in across for hit in order[SHOWN:]):
            rest = [hit for hit in order if hit not in across]
            order = [*rest[: SHOWN - len(across)], *across, *rest[SHOWN - len(across) :]]
        order = order[: query.k]
        if len({hit.score_kind for hit in order}) == 1:
            scores = sorted((hit.score for hit in order), reverse=True)
            order = [hit._replace(score=score) for hit, score in zip(order, scores, strict=True)]
        return tuple(hit._replace(rank=rank) for rank, hit in enumerate(order, 1))

    return result._replace(
        query=result.query._replace(k=query.k),
        hits=ordered(result.hits),
        among_notes=None if result.among_notes is None else ordered(result.among_notes),
        ordered_before=ordered(result.ordered_before),
    )


def _headed_by(term: str, hits: Sequence[Passage]) -> str | None:
    """The chunk that begins the section whose heading asks for the term, or else the document of that title, if one of
    the first `SHOWN` hits is of it.
    """
    folded = folded_name(term)
    if not folded:
        return None
    notes = [hit for hit in hits if hit.score_kind != "code"]
    for names in (_asked_by_heading, _titles):
        first = next((hit for hit in notes[:SHOWN] if folded in names(hit)), None)
        if first is not None:
            found = [hit for hit in notes if (hit.doc_id, names(hit)) == (first.doc_id, names(first))]
            return min(found, key=lambda hit: hit.chunk_rowid).chunk_id
    return None


def _asked_by_heading(hit: Passage) -> tuple[str, ...]:
    heading = " ".join(_MARKS.sub("", hit.heading_path[-1]).split()) if hit.heading_path else ""
    term = defined_term(heading)
    return () if term is None else (folded_name(term),)


def _titles(hit: Passage) -> tuple[str, ...]:
    file = hit.doc_path.rpartition("/")[2]
    return folded_name(_MARKS.sub("", hit.title)), folded_name(file.rpartition(".")[0] or file)


def _asked(index: Index, word: str, substitutions: Sequence[Substitution]) -> _Asked:
    number = word.replace(",", "") if words_in(word) == [word.replace(",", "")] and word[0].isdecimal() else ""
    number = number if number.isdecimal() else ""
    exact = Term(number).to_match() if number else _phrase(word)
    if word.isascii():
        patterns = tuple(_patterns((number, f"{int(number):,}") if number else (word,), bool(number)))
        return _Asked(exact, exact, _any_of([exact, *_others(index, word, substitutions)]), (exact,), patterns)
    forms = tuple(dict.fromkeys((exact, _phrase(_without_particle(word)))))
    holds = _any_of([*forms, all_of(index, word), *_others(index, word, substitutions)])
    return _Asked(exact, _any_of(forms), holds, forms)


def _others(index: Index, word: str, substitutions: Sequence[Substitution]) -> Iterator[str]:
    """Expressions for the words that are searched instead of a word, or in addition."""
    for each in substitutions:
        if each.asked in words_in(word):
            yield from (all_of(index, other) for other in each.searched)


def _without_particle(word: str) -> str:
    match = re.fullmatch(_LATIN_WITH_PARTICLE, word)
    if match is None:
        return bare_word(word)
    is_particle = any(match[2] in words("particles", kind) for kind in ("final", "vowel", "any"))
    return match[1] if is_particle else word


def _patterns(spelled: Sequence[str], is_number: bool) -> Iterator[str]:
    """GLOB patterns for a word without a letter or digit next to it; a number must not be part of another number."""
    edge = "[^a-z0-9.,]" if is_number else "[^a-z0-9]"
    for each in spelled:
        literal = re.sub(r"([*?\[])", r"[\1]", each.lower())
        yield f"*{edge}{literal}[^a-z0-9{'.,' if is_number else ''}]*"
        if is_number:
            yield f"*{edge}{literal}[.,][^0-9]*"


def _phrase(word: str) -> str:
    return f'"{re.sub(_NO_WORD, " ", word)}"'


def _any_of(matches: Iterator[str] | Sequence[str]) -> str:
    found = list(dict.fromkeys(matches))
    return found[0] if len(found) == 1 else f"({' OR '.join(found)})"
