"""Parses a question into search terms and an FTS5 expression. Only a raw expression, `'…'`, can be a syntax error."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from kb.domain.search import DaysAsked, Substitution, Term, Widening
from kb.domain.text import stored_text
from kb.language.lists import is_stopword
from kb.language.words import is_syllable
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
    """The search terms of a question, and the FTS5 expression of them, empty if nothing can be searched.

    `corrected` is the question with replaced words, None if none was replaced. `beside` are parts of the expression
    that are no terms. `held` are the passages that contain all words of a question that is looked up
    (`kb.retrieve.look_up`). `days` are the days that it names, and `favoured` the documents dated so.
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
    """The rare and the common words of a question as FTS5 expressions, and the highest BM25 of the common ones."""

    rare_expr: str
    common_expr: str
    common_max: float

    @property
    def whole_expr(self) -> str:
        return f"{self.rare_expr} OR {self.common_expr}"

    @property
    def both_expr(self) -> str:
        """The expression for passages with a rare and a common word; BM25 counts all words in it."""
        return f"({self.rare_expr}) AND ({self.common_expr})"


def is_raw(text: str) -> bool:
    """Whether a question is an FTS5 expression in single quotes."""
    text = plain(text)
    return len(text) > 2 and text[0] == text[-1] == "'"


def plain(text: str) -> str:
    """The text of a question, normalised."""
    return stored_text(text).replace("\0", " ").strip()


def read_query(index: Index, text: str, widening: Widening = _ITS_OWN_WORDS) -> QueryTerms:
    """The terms of `text`: words without English function words, and the content morphemes of Korean words.

    A text in single quotes is passed on as a raw FTS5 expression. `widening` says whether to add corrections of unknown
    words, forms in the other script, and synonyms; nothing is added for words in double quotes. `index` keeps the terms
    of a text for another search of the same snapshot, such as one with other filters.
    """
    text = plain(text)
    known = index.questions.get((text, widening))
    if known is None:
        known = index.questions[text, widening] = _read_query(index, text, widening)
    return known


def _read_query(index: Index, text: str, widening: Widening) -> QueryTerms:
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
    """The words of a text; whole numbers lose their commas."""
    return [word.replace(",", "") for word in WORD.findall(text)]


def _substitutions(
    index: Index, text: str, content: Sequence[str], unknown: Mapping[str, int], widening: Widening
) -> tuple[Substitution, ...]:
    """The words to search in addition to words of a question, or instead of words that no document has."""
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
    """The words of a question that nothing may replace: in double quotes, before an apostrophe, or with `*`."""
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
    """The words by which a question is searched: at most `MAX_TERMS`, and few more characters than their limit."""
    chars = 0
    for position, word in enumerate(words[:MAX_TERMS]):
        chars += len(word)
        if chars > MAX_WORDS_CHARS:
            return words[: max(1, position)]
    return words[:MAX_TERMS]


def parted(index: Index, read: QueryTerms) -> Parted | None:
    """The rare and the common words of a question apart; None if it lacks one kind, or would gain little.

    Also None for a large index, which is searched by the rarer words anyway, and whose counts may be outdated.
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
    """The terms by which a large index is searched: the rarest ones, up to a number of occurrences.

    FTS5 scores every chunk with any of the terms: the commonest words take the time and decide nothing.
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
    """The terms of the words; if the words are only particles, these words themselves."""
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
    """The words, or their parts in one script, that no document seems to have, with the slips each may have."""
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
    """The Latin pieces that no document has, in this form or with another ending."""
    latin = [piece for piece in pieces if len(piece) > _SHORT_LATIN and piece.isascii() and piece.isalpha()]
    wanted = {piece.lower(): piece for piece in latin}
    written = index.documents_with(wanted)
    tokens = {word: indexed_token(index.db, word) for word in wanted if word not in written}
    known = index.terms_among(tokens.values())
    return [wanted[word] for word, token in tokens.items() if token not in known]


def _is_in_splinters(cuts: Sequence[Cut]) -> bool:
    """Whether a word was cut into known pieces, one of a single syllable, as happens to a misspelled word (파냄|된)."""
    content = [cut.morphemes for cut in cuts if cut.morphemes]
    return len(content) > 1 and any(len(morphemes) == len(morphemes[0]) == 1 for morphemes in content)


def _has_single_jamo(word: str) -> bool:
    """Whether a word contains single jamo, as a word typed in the wrong layout does."""
    return any("ㄱ" <= char <= "ㅣ" for char in word)


def _stem_term(index: Index, word: str) -> Term:
    """The term for a Hangul word that the index lacks: its longest stem that is a term, else the word as a prefix.

    An ending that no document uses (버티나) hides a verb that some use (버티-).
    """
    known = index.terms_among([word[:length] for length in range(len(word), 1, -1)])
    return Term(known[0]) if known else Term(word, prefix=True)


def _pieces(word: str) -> Iterator[str]:
    """The pieces of `word` between Hangul and other letters."""
    if word.isascii():
        yield word
    else:
        for _, piece in groupby(word, is_syllable):
            yield "".join(piece)
