"""What an unknown word of a question is taken for: a word of the documents that a slip of the hand turns into it.

Only words that no document has come here, so a question of known words pays nothing. Most of them are no slips but
words that these documents lack (`lemon`, `부산`), and nearly each of those has a neighbour that they have. So a word is
taken for another only where the difference is one that hands make: see `kb.language.words.is_slip`. A word
typed in the wrong keyboard layout is read as its keys say.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from kb.domain.search import Substitution
from kb.language.hangul import as_hangul, as_latin, compose, is_hangul
from kb.language.words import (
    TWO_SLIPS_LETTERS,
    bare_word,
    fold,
    is_correctable,
    is_other_form,
    is_slip,
    letters,
    one_slip_away,
    particle_of,
    slips_between,
)
from kb.store import queries
from kb.store.connection import Connection

# How much of a word must be at its beginning or end, where it is looked for by that.
_ALIKE_LETTERS = 3


def correct(db: Connection, unknown: Mapping[str, int]) -> Iterator[Substitution]:
    """For each unknown word of a question the word it is taken for; none for a word that resembles nothing.

    `unknown` says how many slips each may hold at most.
    """
    for word, most in unknown.items():
        typed = _typed_in_other_layout(db, word)
        if typed is not None:
            yield Substitution(word, (typed,), "keyboard")
            continue
        meant = _meant(db, word, most)
        if meant is not None:
            yield Substitution(word, (meant,), "spelling")


def _typed_in_other_layout(db: Connection, word: str) -> str | None:
    """What the keys of `word` write in the other layout, where the documents have that."""
    other = as_latin(word) if is_hangul(word) else as_hangul(word) if word.isascii() else None
    if other is None or len(other) < 2:
        return None
    return other if _written(db, {letters(other), letters(bare_word(other))}) else None


def _written(db: Connection, words: Iterable[str]) -> list[queries.WrittenWord]:
    return queries.select_written_words(db, words_json=json.dumps(sorted(words), ensure_ascii=False))


def _meant(db: Connection, word: str, most: int) -> str | None:
    """The word of the documents that `word` is a slip of; a Korean one with the particle it was asked with."""
    if not is_hangul(word):
        folded = fold(word)
        found = _nearest(db, folded, most) if is_correctable(folded) else None
        return found.capitalize() if found and word[0].isupper() else found
    bare = bare_word(word)
    typed = letters(bare)
    if not is_correctable(bare) or _written(db, [typed]):
        return None
    found = _nearest(db, typed, 1)
    meant = None if found is None else compose(found)
    return meant + particle_of(word) if meant is not None and _is_noun(db, meant) else None


def _is_noun(db: Connection, word: str) -> bool:
    """Whether a Korean word is made of units of two syllables that are their own base forms: no form of a verb."""
    from kb.retrieve.korean_cuts import cut_words

    cuts = cut_words(db, [word])[word]
    units = [unit for cut in cuts for unit in cut.morphemes]
    return all(cut.known for cut in cuts) and "".join(units) == word and min(map(len, units)) > 1


def _nearest(db: Connection, typed: str, most: int) -> str | None:
    """The letters of the word with the fewest slips, `most` at most; of several the one that most documents have."""
    near = [(-row.documents, row.letters) for row in _written(db, one_slip_away(typed)) if is_slip(typed, row.letters)]
    if near or most < 2 or len(typed) < TWO_SLIPS_LETTERS:
        return min(near)[1] if near else None
    first = typed[:_ALIKE_LETTERS]
    alike = queries.select_words_like(
        db,
        first=first,
        after=first[:-1] + chr(ord(first[-1]) + 1),
        last=typed[-_ALIKE_LETTERS:],
        least=len(typed) - 2,
        most=len(typed) + 2,
    )
    known = set(typed)
    near = [
        (-row.documents, row.letters)
        for row in alike
        # Two slips add or take four letters at most, and leave the first one; most candidates end here.
        if row.letters[0] == typed[0] and len(known ^ set(row.letters)) <= 4
        if slips_between(typed, row.letters, 2) is not None and not is_other_form(typed, row.letters)
    ]
    return min(near)[1] if near else None
