"""What a word of a question is called elsewhere: in the other script, or by its owner."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from kb.domain.search import Substitution
from kb.language.hangul import compose, is_hangul
from kb.language.lists import english_stopwords
from kb.language.words import bare_word, fold, letters
from kb.store import queries
from kb.store.connection import Connection

# The other word is searched for where at least the asked one's documents divided by this have it.
LEAST_SHARE = 2
# So long a Hangul word, or a Latin one whose Hangul is the usual one, sounds like no other by chance.
TELLING_SYLLABLES = 4
TELLING_LETTERS = 7


def plain_word(word: str) -> str:
    """A word without what inflects it: a Korean one without its particle, a Latin one in lower case."""
    return bare_word(word) if is_hangul(word) else fold(word)


def in_other_script(db: Connection, pieces: Sequence[str], unknown: Mapping[str, int]) -> Iterator[Substitution]:
    """For each word what it is in the other script: as the documents say, else the word that sounds the same.

    A question of words that no document has in the other script costs two look-ups.
    """
    asked = {letters(plain_word(piece)): piece for piece in pieces if piece.isalpha()}
    words_json = json.dumps(list(asked), ensure_ascii=False)
    paired: dict[str, list[queries.Pair]] = {}
    explained: set[str] = set()
    for pair in queries.select_pairs(db, words_json=words_json):
        paired.setdefault(pair.asked, []).append(pair)
    for word, others in paired.items():
        said = others[0]
        # What is in brackets may be an example, 서버(Uvicorn), and then there are others: 서버(Nginx).
        if said.partners == 1 and _is_common(said) and (len(others) == 1 or said.pairs >= 2 * others[1].pairs):
            explained.add(word)
            yield Substitution(asked[word], (_written(said.letters),), "pair")
    sounds = [[word, key] for word, piece in asked.items() if piece in unknown for key in _keys(piece)]
    near = queries.select_same_sound(db, words_json=words_json, sounds_json=json.dumps(sounds, ensure_ascii=False))
    best: dict[str, tuple[int, int, str]] = {}
    for row in near:
        if row.asked in explained or not _is_common(row):
            continue
        far = _distance(db, _written(row.asked), _written(row.letters))
        if far is not None and (_is_telling(row, far) or _go_together(db, row)):
            found = (far, -row.documents, _written(row.letters))
            best[row.asked] = min(best.get(row.asked, found), found)
    for word, (_, _, other) in best.items():
        yield Substitution(asked[word], (other,), "sound")


def _is_common(row: queries.Pair | queries.SameSound) -> bool:
    """Whether enough documents have the other word: a rare one weighs more in BM25 than the word that was asked."""
    return row.documents * LEAST_SHARE >= row.asked_documents


def _is_telling(row: queries.SameSound, far: int) -> bool:
    """Whether the sound alone decides: for long words, and for one that no document has: it stands beside nothing."""
    hangul, latin = sorted((_written(row.asked), _written(row.letters)), key=str.isascii)
    long = len(hangul) >= TELLING_SYLLABLES or (len(latin) >= TELLING_LETTERS and not far)
    return long or not row.asked_documents


def _go_together(db: Connection, row: queries.SameSound) -> bool:
    """Whether a passage has both words: what sounds alike is often chance (live, 리브) where it is never together."""
    both = " AND ".join(f'"{_written(word)}"' for word in (row.asked, row.letters))
    found = queries.select_passage_with(db, match_expr=both)
    return found is not None and bool(found.found)


def _written(word_letters: str) -> str:
    return word_letters if word_letters.isascii() else compose(word_letters)


def _keys(piece: str) -> tuple[str, ...]:
    from kb.language.hangul import sound_keys

    return sound_keys(plain_word(piece))


def _distance(db: Connection, one: str, other: str) -> int | None:
    """How far the Hangul of two words is from the usual way of writing the Latin one; None where they are not the same.

    A short Hangul word must stand alone in the documents as a noun: 앱을 sounds like apple, and is an app.
    """
    from kb.language.hangul import LEAST_SYLLABLES, transliterates

    hangul, latin = (one, other) if is_hangul(one) else (other, one)
    if latin in english_stopwords():
        return None
    far = transliterates(hangul, latin)
    if far is None or len(hangul) > LEAST_SYLLABLES or (hangul == one and not _is_known(db, hangul)):
        return far
    units = queries.select_korean_units(db, surfaces_json=json.dumps([hangul], ensure_ascii=False))
    return far if any(unit.morphemes == hangul for unit in units) else None


def _is_known(db: Connection, hangul: str) -> bool:
    wanted = json.dumps([letters(hangul)], ensure_ascii=False)
    return not queries.select_unwritten_words(db, words_json=wanted)


def by_lexicon(words: Sequence[str], synonyms: Sequence[Sequence[str]]) -> Iterator[Substitution]:
    """For each word or sequence of words of a question that is in a group of synonyms, the others of the group."""
    plain = [plain_word(word) for word in words]
    for group in synonyms:
        for member in group:
            wanted = [plain_word(word) for word in member.split()]
            starts = [at for at in range(len(plain)) if plain[at : at + len(wanted)] == wanted]
            if starts:
                asked = " ".join(words[starts[0] : starts[0] + len(wanted)])
                yield Substitution(asked, tuple(other for other in group if other != member), "lexicon")
                break
