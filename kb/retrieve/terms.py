"""A question's text as search terms and an FTS5 expression. Only `'…'`, a raw expression, can be a syntax error."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import NamedTuple

from kb.domain.text import stored_text
from kb.language.korean import HANGUL, KnownUnit, cut_word, has_hangul, substrings, unit_lexicon
from kb.language.stopwords import ENGLISH
from kb.store import retrieve_queries as queries
from kb.store.connection import Connection

# Beyond this many distinct terms a question is a document; its first terms say what it is about.
MAX_TERMS = 64

_WORD = re.compile(r"[^\W_]+")
_PIECE = re.compile(r"[가-힣]+|[^가-힣]+")


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
    terms: tuple[str, ...]
    raw: bool


def read_query(db: Connection, text: str) -> QueryTerms:
    """The terms of `text`: words without English function words, Korean words cut into content morphemes.

    A text in single quotes is passed on as a raw FTS5 expression.
    """
    text = stored_text(text).replace("\0", " ").strip()
    if len(text) > 2 and text[0] == text[-1] == "'":
        return QueryTerms(text[1:-1], (), raw=True)
    words = list(dict.fromkeys(_WORD.findall(text)))
    content = [word for word in words if word.lower() not in ENGLISH] or words
    terms = _terms(db, content[:MAX_TERMS])[:MAX_TERMS]
    return QueryTerms(" OR ".join(term.to_match() for term in terms), tuple(term.text for term in terms), raw=False)


def _terms(db: Connection, words: Iterable[str]) -> list[Term]:
    pieces = [piece for word in words for piece in _PIECE.findall(word)]
    hangul = [piece for piece in pieces if has_hangul(piece)]
    if not hangul:
        return list(dict.fromkeys(Term(piece) for piece in pieces))
    surfaces_json = json.dumps(substrings(hangul), ensure_ascii=False)
    known = [KnownUnit(*row) for row in queries.select_korean_units(db, surfaces_json=surfaces_json)]
    readings, counts = unit_lexicon(known)
    row = queries.select_korean_unit_total(db)
    total = row.total if row else 0
    terms: dict[Term, None] = {}
    particles_only: list[Term] = []
    for piece in pieces:
        if not HANGUL.fullmatch(piece):
            terms[Term(piece)] = None
            continue
        for cut in cut_word(piece, readings, counts, total):
            terms.update((Term(morpheme, prefix=not cut.known), None) for morpheme in cut.morphemes)
        particles_only.append(Term(piece, prefix=True))
    return list(terms) or particles_only
