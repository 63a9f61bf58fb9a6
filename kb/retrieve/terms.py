"""A question's text as search terms and an FTS5 expression. Only `'…'`, a raw expression, can be a syntax error."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kb.domain.text import stored_text
from kb.language.stopwords import ENGLISH, korean
from kb.store import retrieve_queries as queries
from kb.store.connection import Connection
from kb.store.tokens import indexed_token

# Beyond this many distinct terms, or words of so many characters together, a question is a document; its beginning says
# what it is about. Of a longer text no more is looked at.
MAX_TERMS = 64
MAX_WORDS_CHARS = 1_000
READ_CHARS = 20_000

# An index of this size is searched by a question's rarer terms: at least so many, with at most so many occurrences.
LARGE_INDEX_CHUNKS = 20_000
MIN_TERMS = 6
OCCURRENCE_BUDGET = 40_000

_WORD = re.compile(r"[^\W_]+")


class Term(NamedTuple):
    """One search term. `prefix` is set where the index does not know the Korean word whole."""

    text: str
    prefix: bool = False

    def to_match(self) -> str:
        """The term as an FTS5 string; the tokenizer folds case, accents and English endings."""
        return f'"{self.text}" *' if self.prefix else f'"{self.text}"'


class QueryTerms(NamedTuple):
    """What a question is searched by: an FTS5 expression, empty when nothing can be searched, and its terms."""

    match_expr: str
    searched: tuple[Term, ...]
    terms: tuple[str, ...]
    raw: bool


def is_raw(text: str) -> bool:
    """Whether a question is an FTS5 expression in single quotes."""
    text = _plain(text)
    return len(text) > 2 and text[0] == text[-1] == "'"


def _plain(text: str) -> str:
    return stored_text(text).replace("\0", " ").strip()


def read_query(db: Connection, text: str) -> QueryTerms:
    """The terms of `text`: words without English function words, Korean words cut into content morphemes.

    A text in single quotes is passed on as a raw FTS5 expression.
    """
    text = _plain(text)
    if is_raw(text):
        return QueryTerms(text[1:-1], (), (), raw=True)
    words = list(dict.fromkeys(word[:MAX_WORDS_CHARS] for word in _WORD.findall(text[:READ_CHARS])))
    content = [word for word in words if not _says_nothing(word)] or words
    terms = _terms(db, _first(content))[:MAX_TERMS]
    searched = _affordable(db, terms)
    match_expr = " OR ".join(term.to_match() for term in searched)
    return QueryTerms(match_expr, tuple(searched), tuple(term.text for term in terms), raw=False)


def _first(words: Sequence[str]) -> Sequence[str]:
    """The words that a question is searched by: at most `MAX_TERMS`, and not many more characters than its limit."""
    chars = 0
    for position, word in enumerate(words[:MAX_TERMS]):
        chars += len(word)
        if chars > MAX_WORDS_CHARS:
            return words[: max(1, position)]
    return words[:MAX_TERMS]


def term_counts(db: Connection, terms: Sequence[Term]) -> list[queries.TermCount]:
    """How common each term is; the last one's `bm25_max` is that of all."""
    pairs = [[term.to_match(), None if term.prefix else indexed_token(db, term.text)] for term in terms]
    return queries.select_term_counts(db, terms_json=json.dumps(pairs, ensure_ascii=False))


def bm25_max(db: Connection, terms: Sequence[Term]) -> float | None:
    """The most that BM25 can give for these terms together; None without terms."""
    counts = term_counts(db, terms) if terms else []
    return counts[-1].bm25_max if counts else None


def _affordable(db: Connection, terms: Sequence[Term]) -> Sequence[Term]:
    """The terms a large index is searched by: the rarest ones, up to a budget of occurrences.

    FTS5 scores every chunk that has any of the terms, so a question costs as much as its commonest words; those
    decide nothing where rarer ones occur.
    """
    total = queries.select_chunk_total(db)
    if len(terms) <= MIN_TERMS or total is None or total.chunks < LARGE_INDEX_CHUNKS:
        return terms
    counts = {row.position: row.chunks for row in term_counts(db, terms)}
    kept: set[int] = set()
    spent = 0
    for position in sorted(counts, key=lambda at: (counts[at], at)):
        spent += counts[position]
        if spent > OCCURRENCE_BUDGET and len(kept) >= MIN_TERMS:
            break
        kept.add(position)
    return [term for position, term in enumerate(terms) if position in kept]


def _terms(db: Connection, words: Iterable[str]) -> list[Term]:
    pieces = [piece for word in words for piece in _pieces(word)]
    if all(piece.isascii() for piece in pieces):
        return list(dict.fromkeys(Term(piece) for piece in pieces))
    from kb.language.korean import KnownUnit, cut_word, has_hangul, substrings, unit_lexicon

    korean = [piece for piece in pieces if has_hangul(piece)]
    if not korean:
        return list(dict.fromkeys(Term(piece) for piece in pieces))
    surfaces_json = json.dumps(substrings(korean), ensure_ascii=False)
    known = [KnownUnit(*row) for row in queries.select_korean_units(db, surfaces_json=surfaces_json)]
    readings, counts = unit_lexicon(known)
    row = queries.select_korean_unit_total(db)
    total = row.total if row else 0
    terms: dict[Term, None] = {}
    particles_only: list[Term] = []
    for piece in pieces:
        if not has_hangul(piece):
            terms[Term(piece)] = None
            continue
        for cut in cut_word(piece, readings, counts, total):
            if cut.known:
                terms.update((Term(morpheme), None) for morpheme in cut.morphemes)
            else:
                terms[_unknown(db, cut.morphemes[0])] = None
        particles_only.append(Term(piece, prefix=True))
    return list(terms) or particles_only


def _says_nothing(word: str) -> bool:
    return word.lower() in ENGLISH if word.isascii() else korean().fullmatch(word) is not None


def _unknown(db: Connection, word: str) -> Term:
    """The term for a Hangul word the index does not know: its longest stem that is a term, else the word as a prefix.

    An ending that no document uses (버티나) hides a verb that some do (버티-).
    """
    stems = [word[:length] for length in range(len(word), 1, -1)]
    known = queries.select_indexed_words(db, words_json=json.dumps(stems, ensure_ascii=False))
    return Term(known[0].word) if known else Term(word, prefix=True)


def _pieces(word: str) -> Iterator[str]:
    """`word` cut where Hangul and other letters meet."""
    end = 0
    if not word.isascii():
        from kb.language.korean import hangul

        for match in hangul().finditer(word):
            if match.start() > end:
                yield word[end : match.start()]
            yield match[0]
            end = match.end()
    if end < len(word):
        yield word[end:]
