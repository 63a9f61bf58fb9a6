"""The lexical index as one question reads it; counts, words and units are read once each."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from kb.domain.search import Term
from kb.store import queries
from kb.store.connection import Connection
from kb.store.tokens import indexed_token

if TYPE_CHECKING:
    from kb.domain.search import Widening
    from kb.language.korean import Cut
    from kb.retrieve.terms import QueryTerms


class Index:
    """The contents of the index at one moment; caches everything that it has read."""

    def __init__(self, db: Connection) -> None:
        self.db = db
        self.questions: dict[tuple[str, Widening], QueryTerms] = {}
        self._documents: dict[str, int] = {}
        self._terms: dict[str, bool] = {}
        self._units: dict[str, list[queries.KoreanUnitRow]] = {}
        self._cuts: dict[str, list[Cut]] = {}
        self._counts: dict[tuple[Term, ...], list[queries.TermCount]] = {}

    @cached_property
    def state(self) -> queries.IndexState:
        """The counts and versions of the index, and the weights of its columns."""
        found = queries.select_index_state(self.db)
        assert found is not None, "a statement of subqueries is one row"
        return found

    def documents_with(self, words: Iterable[str]) -> dict[str, int]:
        """How many documents have each of the words (Korean ones in single jamo), without words that none has."""
        wanted = sorted(words)
        unread = [word for word in wanted if word not in self._documents]
        if unread:
            self._documents |= dict.fromkeys(unread, 0)
            rows = queries.select_written_words(self.db, words_json=json.dumps(unread, ensure_ascii=False))
            self._documents |= {row.letters: row.documents for row in rows}
        return {word: count for word in wanted if (count := self._documents[word])}

    def terms_among(self, words: Collection[str | None]) -> list[str]:
        """Those of the words that are terms of the index of notes or code, as the tokenizer folds them."""
        unread = [word for word in words if word is not None and word not in self._terms]
        if unread:
            rows = queries.select_indexed_words(self.db, words_json=json.dumps(unread, ensure_ascii=False))
            self._terms |= dict.fromkeys(unread, False) | {row.word: True for row in rows}
        return [word for word in words if word is not None and self._terms[word]]

    def units(self, surfaces: Iterable[str]) -> list[queries.KoreanUnitRow]:
        """The morphemes of Korean units as they are written in the documents."""
        wanted = list(surfaces)
        unread = [surface for surface in wanted if surface not in self._units]
        if unread:
            self._units |= {surface: [] for surface in unread}
            for row in queries.select_korean_units(self.db, surfaces_json=json.dumps(unread, ensure_ascii=False)):
                self._units[row.surface].append(row)
        return [row for surface in wanted for row in self._units[surface]]

    def cut_words(self, korean: Sequence[str]) -> dict[str, list[Cut]]:
        """Each Hangul word, cut into units that the index knows."""
        unread = [word for word in dict.fromkeys(korean) if word not in self._cuts]
        if unread:
            from kb.language.korean import KnownUnit, cut_word, substrings, unit_lexicon  # of Korean questions alone

            readings, counts = unit_lexicon(KnownUnit(*row) for row in self.units(substrings(unread)))
            total = self.state.korean_units
            self._cuts |= {word: cut_word(word, readings, counts, total) for word in unread}
        return {word: self._cuts[word] for word in korean}

    def term_counts(self, terms: Iterable[Term]) -> list[queries.TermCount]:
        """How common each term is; `bm25_max` of the last one is that of all terms."""
        wanted = tuple(terms)
        if wanted not in self._counts:
            pairs = [[each.to_match(), None if each.prefix else indexed_token(self.db, each.text)] for each in wanted]
            terms_json = json.dumps(pairs, ensure_ascii=False)
            self._counts[wanted] = queries.select_term_counts(self.db, terms_json=terms_json) if pairs else []
        return self._counts[wanted]

    def bm25_max(self, terms: Iterable[Term]) -> float | None:
        """The highest possible BM25 for these terms together; None without terms."""
        counts = self.term_counts(terms)
        return counts[-1].bm25_max if counts else None
