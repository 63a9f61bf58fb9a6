"""Finds words to search instead of a question's words, or in addition: typing errors, other scripts, synonyms.

An unknown word is taken for a word of the documents only if the difference is a likely typing error: see
`kb.language.words.is_slip`. A word typed in the wrong keyboard layout is read by its keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from kb.domain.search import Substitution
from kb.language.hangul import as_hangul, as_latin, compose, is_hangul
from kb.language.lists import english_stopwords
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
from kb.retrieve.index import Index
from kb.store import queries

# How much of a word must be at its beginning or end, where it is looked for by that.
_ALIKE_LETTERS = 3


def correct(index: Index, unknown: Mapping[str, int]) -> Iterator[Substitution]:
    """For each unknown word of a question, the word that was probably meant; none for a word that resembles nothing.

    `unknown` gives the most slips that each word may have.
    """
    bare = [bare_word(word) if is_hangul(word) else fold(word) for word in unknown]
    near = {each for word in bare if is_correctable(word) for each in one_slip_away(letters(word))}
    other = {letters(each) for word in unknown for each in _in_other_layout(word)}
    index.documents_with({*map(letters, bare), *near, *other})  # in one statement; what follows finds them there
    for word, most in unknown.items():
        typed = _typed_in_other_layout(index, word)
        if typed is not None:
            yield Substitution(word, (typed,), "keyboard")
            continue
        meant = _meant(index, word, most)
        if meant is not None:
            yield Substitution(word, (meant,), "spelling")


def _typed_in_other_layout(index: Index, word: str) -> str | None:
    """The word that the keys of `word` write in the other keyboard layout; None if no document has it."""
    written = _in_other_layout(word)
    return written[0] if written and index.documents_with(map(letters, written)) else None


def _in_other_layout(word: str) -> tuple[str, ...]:
    """The word that the keys of `word` write in the other layout, with and without a particle; empty for one letter."""
    other = as_latin(word) if is_hangul(word) else as_hangul(word) if word.isascii() else None
    return () if other is None or len(other) < 2 else (other, bare_word(other))


def _meant(index: Index, word: str, most: int) -> str | None:
    """The word of the documents of which `word` is a misspelling, if any; a Korean word keeps its particle."""
    if not is_hangul(word):
        folded = fold(word)
        found = _nearest(index, folded, most) if is_correctable(folded) else None
        return found.capitalize() if found and word[0].isupper() else found
    bare = bare_word(word)
    typed = letters(bare)
    if not is_correctable(bare) or index.documents_with([typed]):
        return None
    found = _nearest(index, typed, 1)
    meant = None if found is None else compose(found)
    return meant + particle_of(word) if meant is not None and _is_noun(index, meant) else None


def _is_noun(index: Index, word: str) -> bool:
    """Whether a Korean word consists of units of two syllables that are their own base forms, so is no verb form."""
    cuts = index.cut_words([word])[word]
    units = [unit for cut in cuts for unit in cut.morphemes]
    return all(cut.known for cut in cuts) and "".join(units) == word and min(map(len, units)) > 1


def _nearest(index: Index, typed: str, most: int) -> str | None:
    """The letters of the word with the fewest slips from `typed`, at most `most`, and then in the most documents."""
    found = index.documents_with(one_slip_away(typed))
    near = [(-documents, word) for word, documents in found.items() if is_slip(typed, word)]
    if near or most < 2 or len(typed) < TWO_SLIPS_LETTERS:
        return min(near)[1] if near else None
    first = typed[:_ALIKE_LETTERS]
    alike = queries.select_words_like(
        index.db,
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


# The other word is searched for where at least the asked one's documents divided by this have it.
LEAST_SHARE = 2
# So long a Hangul word, or a Latin one whose Hangul is the usual one, sounds like no other by chance.
TELLING_SYLLABLES = 4
TELLING_LETTERS = 7


def plain_word(word: str) -> str:
    """A word without its inflection: a Korean word without its particle, a Latin word in lower case."""
    return bare_word(word) if is_hangul(word) else fold(word)


def in_other_script(index: Index, pieces: Sequence[str], unknown: Mapping[str, int]) -> Iterator[Substitution]:
    """Each word in the other script: what documents pair it with, else the word that sounds the same.

    For a question whose words no document has in the other script, this takes two look-ups.
    """
    asked = {letters(plain_word(piece)): piece for piece in pieces if piece.isalpha()}
    words_json = json.dumps(list(asked), ensure_ascii=False)
    paired: dict[str, list[queries.Pair]] = {}
    explained: set[str] = set()
    for pair in queries.select_pairs(index.db, words_json=words_json):
        paired.setdefault(pair.asked, []).append(pair)
    for word, others in paired.items():
        said = others[0]
        # What is in brackets may be an example, 서버(Uvicorn), and then there are others: 서버(Nginx).
        if said.partners == 1 and _is_common(said) and (len(others) == 1 or said.pairs >= 2 * others[1].pairs):
            explained.add(word)
            yield Substitution(asked[word], (_written(said.letters),), "pair")
    sounds = [[word, key] for word, piece in asked.items() if piece in unknown for key in _keys(piece)]
    near = queries.select_same_sound(
        index.db, words_json=words_json, sounds_json=json.dumps(sounds, ensure_ascii=False)
    )
    best: dict[str, tuple[int, int, str]] = {}
    for row in near:
        if row.asked in explained or not _is_common(row):
            continue
        far = _distance(index, _written(row.asked), _written(row.letters))
        if far is not None and (_is_telling(row, far) or _go_together(index, row)):
            found = (far, -row.documents, _written(row.letters))
            best[row.asked] = min(best.get(row.asked, found), found)
    for word, (_, _, other) in best.items():
        yield Substitution(asked[word], (other,), "sound")


def _is_common(row: queries.Pair | queries.SameSound) -> bool:
    """Whether enough documents have the other word: a rare one would weigh more in BM25 than the question's."""
    return row.documents * LEAST_SHARE >= row.asked_documents


def _is_telling(row: queries.SameSound, far: int) -> bool:
    """Whether the sound alone suffices: for long words, and for a word that no document has."""
    hangul, latin = sorted((_written(row.asked), _written(row.letters)), key=str.isascii)
    long = len(hangul) >= TELLING_SYLLABLES or (len(latin) >= TELLING_LETTERS and not far)
    return long or not row.asked_documents


def _go_together(index: Index, row: queries.SameSound) -> bool:
    """Whether some passage has both words: words that only sound alike are often a coincidence (live, 리브)."""
    both = " AND ".join(f'"{_written(word)}"' for word in (row.asked, row.letters))
    found = queries.select_passage_with(index.db, match_expr=both)
    return found is not None and bool(found.found)


def _written(word_letters: str) -> str:
    return word_letters if word_letters.isascii() else compose(word_letters)


def _keys(piece: str) -> tuple[str, ...]:
    from kb.language.hangul import sound_keys

    return sound_keys(plain_word(piece))


def _distance(index: Index, one: str, other: str) -> int | None:
    """How far the Hangul word is from the usual spelling of the Latin word; None if it does not transliterate it.

    A short Hangul word must occur in the documents as a noun: 앱을 sounds like apple, but means an app.
    """
    from kb.language.hangul import LEAST_SYLLABLES, transliterates

    hangul, latin = (one, other) if is_hangul(one) else (other, one)
    if latin in english_stopwords():
        return None
    far = transliterates(hangul, latin)
    if far is None or len(hangul) > LEAST_SYLLABLES or (hangul == one and not index.documents_with([letters(hangul)])):
        return far
    return far if any(unit.morphemes == hangul for unit in index.units([hangul])) else None


def by_lexicon(words: Sequence[str], synonyms: Sequence[Sequence[str]]) -> Iterator[Substitution]:
    """For each word or sequence of words that is in a group of synonyms, the other members of the group."""
    plain = [plain_word(word) for word in words]
    for group in synonyms:
        for member in group:
            wanted = [plain_word(word) for word in member.split()]
            starts = [at for at in range(len(plain)) if plain[at : at + len(wanted)] == wanted]
            if starts:
                asked = " ".join(words[starts[0] : starts[0] + len(wanted)])
                yield Substitution(asked, tuple(other for other in group if other != member), "lexicon")
                break
