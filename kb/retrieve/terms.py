"""A question's text as search terms and an FTS5 expression. Only `'…'`, a raw expression, can be a syntax error."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from kb.domain.search import DaysAsked, Substitution, Term, Widening
from kb.domain.text import stored_text
from kb.language.lists import is_stopword
from kb.language.words import is_syllable
from kb.records import NamedTuple
from kb.retrieve.index import Index
from kb.store import queries
from kb.store.tokens import indexed_token

if TYPE_CHECKING:
    from kb.language.korean import Cut

# Beyond this many distinct terms, or words of so many characters together, a question is a document; its beginning says
# what it is about. Of a longer text no more is looked at.
MAX_TERMS = 64
MAX_WORDS_CHARS = 1_000
READ_CHARS = 20_000

# An index of this size is searched by a question's rarer terms: at least so many, with at most so many occurrences.
LARGE_INDEX_CHUNKS = 20_000
MIN_TERMS = 6
OCCURRENCE_BUDGET = 40_000

# A smaller index is asked for a question's words apart where some are this common, and where a passage with a rarer
# one is likely to score more than all common ones can give: a word mostly gives at least this part of its most.
COMMON_CHUNKS = 1_000
_LIKELY_PART = 2 / 3

# A word that no document has may hold so many slips; one that fell into known pieces, one.
MOST_SLIPS = 2
_SHORT_LATIN = 3
_ITS_OWN_WORDS = Widening()

# A whole number may have commas: 1,200 is one word.
WORD = re.compile(r"\d{1,3}(?:,\d{3})+(?!\d)|[^\W_]+")

# What is meant as it is: words in double quotes, what an apostrophe cuts off (didn't), and how a word begins (chunk*).
_MEANT = '["“][^"“”]++["”]|(?<!\\w)\\w++(?=[\'’]\\w|[*])'
_MARKS = frozenset("\"“'’*")


class QueryTerms(NamedTuple):
    """What a question is searched by: an FTS5 expression, empty when nothing can be searched, and its terms.

    `corrected` is the question with the words that were searched for in place of its own; None where there are none.
    `beside` are the parts of the expression that are no terms; `held` are the passages that hold all its words, where
    it is looked up (`kb.retrieve.look_up`).
    `days` are those it speaks of, and `favoured` the documents of them.
    """

    match_expr: str
    searched: tuple[Term, ...]
    terms: tuple[str, ...]
    raw: bool
    substitutions: tuple[Substitution, ...] = ()
    corrected: str | None = None
    days: DaysAsked | None = None
    favoured: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    held: tuple[queries.Held, ...] = ()


class Parted(NamedTuple):
    """A question's rare and common words as FTS5 expressions, and the most that BM25 can give for the common ones."""

    rare_expr: str
    common_expr: str
    common_max: float

    @property
    def whole_expr(self) -> str:
        return f"{self.rare_expr} OR {self.common_expr}"

    @property
    def both_expr(self) -> str:
        """For passages that have a rare word and a common one; BM25 counts all their words."""
        return f"({self.rare_expr}) AND ({self.common_expr})"


def is_raw(text: str) -> bool:
    """Whether a question is an FTS5 expression in single quotes."""
    text = plain(text)
    return len(text) > 2 and text[0] == text[-1] == "'"


def plain(text: str) -> str:
    """A question's text as it is read."""
    return stored_text(text).replace("\0", " ").strip()


def read_query(index: Index, text: str, widening: Widening = _ITS_OWN_WORDS) -> QueryTerms:
    """The terms of `text`: words without English function words, Korean words cut into content morphemes.

    A text in single quotes is passed on as a raw FTS5 expression. `widening` adds what an unknown word may be a
    slip of, what a word is in the other script, and its synonyms; not for words in double quotes.
    """
    text = plain(text)
    if is_raw(text):
        return QueryTerms(text[1:-1], (), (), raw=True)
    words = list(dict.fromkeys(word[:MAX_WORDS_CHARS] for word in words_in(text[:READ_CHARS])))
    content = _first([word for word in words if not is_stopword(word)] or words)
    terms = _terms(index, content)
    unknown = _unknown_words(index, content)
    substitutions = _substitutions(index, text, content, unknown, widening)
    meant = {each.asked: each.searched[0] for each in substitutions if each.asked in unknown}
    beside: list[str] = []
    if meant:
        asked = terms
        terms = _terms(index, list(dict.fromkeys(_substituted(word, meant) for word in content)))
        beside += [term.to_match() for term in asked if term not in terms]
    terms = terms[:MAX_TERMS]
    searched = _affordable(index, terms)
    beside += [all_of(index, word) for each in substitutions for word in each.searched if each.asked not in meant]
    match_expr = " OR ".join(dict.fromkeys([*(term.to_match() for term in searched), *beside]))
    named = tuple(term.text for term in terms)
    corrected = WORD.sub(lambda match: _substituted(match[0], meant), text) if meant else None
    return QueryTerms(
        match_expr, tuple(searched), named, False, substitutions, corrected, beside=tuple(dict.fromkeys(beside))
    )


def words_in(text: str) -> list[str]:
    """The words of a text, whole numbers without their commas."""
    return [word.replace(",", "") for word in WORD.findall(text)]


def _substitutions(
    index: Index, text: str, content: Sequence[str], unknown: Mapping[str, int], widening: Widening
) -> tuple[Substitution, ...]:
    """What is searched for beside the words of a question, or in the place of those that no document has."""
    if widening == _ITS_OWN_WORDS:
        return ()
    as_it_stands = set(_as_it_stands(text[:READ_CHARS]))
    free = [word for word in content if word not in as_it_stands]
    found: list[Substitution] = []
    if widening.synonyms:
        from kb.retrieve.substitutions import by_lexicon

        found += by_lexicon(free, widening.synonyms)
    if widening.both_scripts:
        from kb.retrieve.substitutions import in_other_script

        explained = {each.asked for each in found}
        pieces = [piece for word in free if word not in explained for piece in _pieces(word)]
        found += in_other_script(index, pieces, unknown)
    explained = {word for each in found for word in each.asked.split()}
    unexplained = {word: slips for word, slips in unknown.items() if word not in as_it_stands | explained}
    if widening.correct_typos and unexplained:
        from kb.retrieve.substitutions import correct  # a question of known words does without

        found += correct(index, unexplained)
    return tuple(found)


def _as_it_stands(text: str) -> Iterator[str]:
    """The words of a question that stand for themselves alone."""
    if not _MARKS.isdisjoint(text):
        for meant in re.findall(_MEANT, text):
            yield from WORD.findall(meant)


def all_of(index: Index, words: str) -> str:
    """An FTS5 expression for passages that have all of these words."""
    matches = [term.to_match() for term in _terms(index, words_in(words))]
    return matches[0] if len(matches) == 1 else f"({' AND '.join(matches)})"


def _substituted(word: str, meant: Mapping[str, str]) -> str:
    return meant.get(word) or "".join(meant.get(piece, piece) for piece in _pieces(word))


def _first(words: Sequence[str]) -> Sequence[str]:
    """The words that a question is searched by: at most `MAX_TERMS`, and not many more characters than its limit."""
    chars = 0
    for position, word in enumerate(words[:MAX_TERMS]):
        chars += len(word)
        if chars > MAX_WORDS_CHARS:
            return words[: max(1, position)]
    return words[:MAX_TERMS]


def parted(index: Index, read: QueryTerms) -> Parted | None:
    """The rare and the common words of a question apart; None where it has not both, or little would be won.

    None as well for a large index: it is asked with its rarer words anyway, and its counts may be of some time ago.
    """
    counted = [term for term in read.searched if not term.prefix]
    if read.raw or not counted or not COMMON_CHUNKS <= index.state.chunks < LARGE_INDEX_CHUNKS:
        return None
    rare = [term.to_match() for term in read.searched if term.prefix]
    common: list[str] = []
    common_max = likely = before = 0.0
    for term, count in zip(counted, index.term_counts(counted), strict=True):
        gives, before = count.bm25_max - before, count.bm25_max
        if count.chunks < COMMON_CHUNKS:
            rare.append(term.to_match())
            likely = max(likely, gives * _LIKELY_PART)
        else:
            common.append(term.to_match())
            common_max += gives
    if not common or likely < common_max:
        return None
    return Parted(" OR ".join([*rare, *read.beside]), " OR ".join(common), common_max)


def _affordable(index: Index, terms: Sequence[Term]) -> Sequence[Term]:
    """The terms a large index is searched by: the rarest ones, up to a budget of occurrences.

    FTS5 scores every chunk that has any of the terms, so a question costs as much as its commonest words; those
    decide nothing where rarer ones occur.
    """
    if len(terms) <= MIN_TERMS or index.state.chunks < LARGE_INDEX_CHUNKS:
        return terms
    counts = {row.position: row.chunks for row in index.term_counts(terms)}
    kept: set[int] = set()
    spent = 0
    for position in sorted(counts, key=lambda at: (counts[at], at)):
        spent += counts[position]
        if spent > OCCURRENCE_BUDGET and len(kept) >= MIN_TERMS:
            break
        kept.add(position)
    return [term for position, term in enumerate(terms) if position in kept]


def _terms(index: Index, words: Sequence[str]) -> list[Term]:
    """The terms of the words; of particles alone the words themselves."""
    pieces = [piece for word in words for piece in _pieces(word)]
    if all(piece.isascii() for piece in pieces):
        return list(dict.fromkeys(Term(piece) for piece in pieces))
    cuts = index.cut_words(_korean(pieces))
    terms: dict[Term, None] = {}
    for piece in pieces:
        if piece not in cuts:
            terms[Term(piece)] = None
            continue
        for cut in cuts[piece]:
            if cut.known:
                terms.update((Term(morpheme), None) for morpheme in cut.morphemes)
            else:
                terms[_stem_term(index, cut.morphemes[0])] = None
    return list(terms) or [Term(piece, prefix=True) for piece in pieces if piece in cuts]


def _unknown_words(index: Index, words: Sequence[str]) -> dict[str, int]:
    """The words, or their parts in one script, that no document seems to have, with the slips each may hold."""
    pieces = [piece for word in words for piece in _pieces(word)]
    unknown = dict.fromkeys(_unknown_latin(index, pieces), MOST_SLIPS)
    unknown |= dict.fromkeys([word for word in words if _has_single_jamo(word)], MOST_SLIPS)
    for piece, cuts in index.cut_words(_korean(pieces)).items():
        if any(not cut.known for cut in cuts):
            unknown[piece] = MOST_SLIPS
        if _is_in_splinters(cuts):
            unknown.setdefault(piece, 1)
    return unknown


def _korean(pieces: Sequence[str]) -> list[str]:
    return [piece for piece in pieces if is_syllable(piece[0])]


def _unknown_latin(index: Index, pieces: Sequence[str]) -> list[str]:
    """The pieces in Latin letters that no document has, in this form or another."""
    latin = [piece for piece in pieces if len(piece) > _SHORT_LATIN and piece.isascii() and piece.isalpha()]
    wanted = {piece.lower(): piece for piece in latin}
    written = index.documents_with(wanted)
    tokens = {word: indexed_token(index.db, word) for word in wanted if word not in written}
    known = index.terms_among(tokens.values())
    return [wanted[word] for word, token in tokens.items() if token not in known]


def _is_in_splinters(cuts: Sequence[Cut]) -> bool:
    """Whether a word fell into known pieces of which one has a single syllable, as a misspelled one does (파냄|된)."""
    content = [cut.morphemes for cut in cuts if cut.morphemes]
    return len(content) > 1 and any(len(morphemes) == len(morphemes[0]) == 1 for morphemes in content)


def _has_single_jamo(word: str) -> bool:
    """Whether single jamo are in a word, as when it was typed in the wrong layout."""
    return any("ㄱ" <= char <= "ㅣ" for char in word)


def _stem_term(index: Index, word: str) -> Term:
    """The term for a Hangul word the index does not know: its longest stem that is a term, else the word as a prefix.

    An ending that no document uses (버티나) hides a verb that some do (버티-).
    """
    known = index.terms_among([word[:length] for length in range(len(word), 1, -1)])
    return Term(known[0]) if known else Term(word, prefix=True)


def _pieces(word: str) -> Iterator[str]:
    """`word` cut where Hangul and other letters meet."""
    if word.isascii():
        yield word
    else:
        for _, piece in groupby(word, is_syllable):
            yield "".join(piece)
