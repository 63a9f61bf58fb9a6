"""A memory-mapped unigram vocabulary, ready without loading: tokenizes the one question of a fresh process.

A tokenizer.json of 250,000 pieces takes 0.7 s to load, which pays off over thousands of texts. This file has the same
pieces in a hash table (crc32, open addressing) and the map of replaced characters, and is searched in place.

Layout (little-endian): header; uint32 slots[slot_count] (piece id + 1, 0 = free); uint32 offsets[piece_count + 1];
float32 scores[piece_count]; uint32 trie[trie_units]; replacement texts; piece texts.
"""

from __future__ import annotations

import mmap
import os
import re
import struct
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple
from weakref import WeakValueDictionary
from zlib import crc32

from kb.errors import ModelCorrupt

VOCABULARY_FILE = "vocabulary.bin"

MAGIC = b"KBV1"
# pieces, slots, trie units, replacement bytes, text bytes, longest piece in bytes, unknown id, 0, its score
HEADER = struct.Struct("<4s8If")
SPACE, METASPACE = b" ", "▁".encode()
_HAS_LEAF, _LABEL_MASK, _VALUE_MASK = 1 << 8, 0x8000_00FF, 0x7FFF_FFFF


class UnigramVocabulary(NamedTuple):
    """A vocabulary file, memory-mapped."""

    slots: memoryview[int]
    offsets: memoryview[int]
    scores: memoryview[float]
    trie: memoryview[int]
    replacements: memoryview[int]
    texts: memoryview[int]
    longest_bytes: int
    unknown: int
    unknown_score: float

    def token_ids(self, text: str) -> list[int]:
        """The ids of the likeliest segmentation of `text`, without special tokens; unknown runs are one (Kudo 2018)."""
        return self.segmented(self._normalised(text.encode()))

    def longest_by_beginning(self) -> Sequence[int]:
        """The length in bytes of the longest piece that begins with two bytes, at index 256 · first + second.

        Computed with numpy in 10 ms, which pays off for many words.
        """
        import numpy as np

        offsets = np.asarray(self.offsets, dtype=np.int64)
        lengths = np.diff(offsets)
        texts = np.asarray(self.texts)
        begins = offsets[:-1][lengths > 1]
        beginnings = texts[begins].astype(np.int64) * 256 + texts[begins + 1]
        longest = np.ones(1 << 16, dtype=np.int64)
        np.maximum.at(longest, beginnings, lengths[lengths > 1])
        found: list[int] = longest.tolist()
        return found

    def segmented(self, data: bytes, longest: Sequence[int] | None = None) -> list[int]:
        """The ids of a text with replaced characters, whose words begin with a metaspace.

        `longest`, from `longest_by_beginning`, avoids look-ups of impossible pieces.
        """
        slots, offsets, pieces, texts, unknown = self.slots, self.offsets, self.scores, self.texts, self.unknown
        mask = len(slots) - 1
        starts = [at for at, byte in enumerate(data) if byte & 0xC0 != 0x80]
        ends = [*starts[1:], len(data)]
        best = [-float("inf")] * (len(starts) + 1)
        best[0] = 0.0
        arrived: list[tuple[int, int]] = [(0, unknown)] * (len(starts) + 1)
        for first, start in enumerate(starts):
            base = best[first]
            checksum = 0
            known = False
            limit = self.longest_bytes
            if longest is not None and start + 1 < len(data):
                limit = max(longest[data[start] << 8 | data[start + 1]], ends[first] - start)
            begin = start
            for last, end in enumerate(ends[first:], first):
                size = end - start
                if size > limit:
                    break
                checksum = crc32(data[begin:end], checksum)
                begin = end
                slot = checksum & mask
                # Looked up here: a call each would take half of the time.
                while found := slots[slot]:
                    at = offsets[found - 1]
                    if offsets[found] - at == size and texts[at : at + size] == data[start:end]:
                        piece = found - 1
                        if piece != unknown:
                            known = known or last == first
                            score = base + pieces[piece]
                            if score > best[last + 1]:
                                best[last + 1], arrived[last + 1] = score, (first, piece)
                        break
                    slot = (slot + 1) & mask
            if not known and base + self.unknown_score > best[first + 1]:
                best[first + 1], arrived[first + 1] = base + self.unknown_score, (first, unknown)
        return self._path(arrived)

    def _path(self, arrived: Sequence[tuple[int, int]]) -> list[int]:
        ids: list[int] = []
        at = len(arrived) - 1
        while at > 0:
            at, piece = arrived[at]
            if piece != self.unknown or not ids or ids[-1] != self.unknown:
                ids.append(piece)
        return ids[::-1]

    def replaced(self, raw: bytes) -> bytes:
        """The text with the vocabulary's replacements of characters applied."""
        out = bytearray()
        at = 0
        while at < len(raw):
            replacement, length = self._replacement(raw, at)
            out += replacement
            at += length
        return bytes(out)

    def _normalised(self, raw: bytes) -> bytes:
        """The text with replacements applied, each run of spaces as one metaspace, and one metaspace in front."""
        words = self.replaced(raw).split(SPACE)
        if len(words) > 1:
            words = [words[0], *(word for word in words[1:-1] if word), words[-1]]
        joined = METASPACE.join(words)
        return joined if not joined or joined.startswith(METASPACE) else METASPACE + joined

    def _replacement(self, raw: bytes, start: int) -> tuple[bytes, int]:
        """The replacement of the longest replaced prefix of `raw[start:]`, and its length; else the character there."""
        trie = self.trie
        node, at, value, length = 0, start, -1, 0
        unit = trie[0]
        node ^= _offset(unit)
        while at < len(raw):
            node ^= raw[at]
            if node >= len(trie) or (trie[node] & _LABEL_MASK) != raw[at]:
                break
            unit = trie[node]
            node ^= _offset(unit)
            at += 1
            if unit & _HAS_LEAF:
                value, length = trie[node] & _VALUE_MASK, at - start
        if value < 0:
            length = 1
            while start + length < len(raw) and raw[start + length] & 0xC0 == 0x80:
                length += 1
            return raw[start : start + length], length
        end = value
        while self.replacements[end]:
            end += 1
        return bytes(self.replacements[value:end]), length


def open_vocabulary(path: Path) -> UnigramVocabulary:
    """Maps the vocabulary at `path`. Raises: ModelCorrupt when it is not one or is truncated."""
    try:
        with path.open("rb") as file:
            view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        magic, pieces, slots, units, replaced, texts, longest, unknown, _, score = HEADER.unpack_from(view)
    except (OSError, ValueError, struct.error) as error:
        raise ModelCorrupt(f"{path} cannot be read: {error}") from error
    sizes = (4 * slots, 4 * (pieces + 1), 4 * pieces, 4 * units, replaced, texts)
    if magic != MAGIC or len(view) != HEADER.size + sum(sizes):
        raise ModelCorrupt(f"{path} is not a whole vocabulary file")
    at = HEADER.size
    parts = []
    for size in sizes:
        parts.append(view[at : at + size])
        at += size
    return UnigramVocabulary(
        parts[0].cast("I"),
        parts[1].cast("I"),
        parts[2].cast("f"),
        parts[3].cast("I"),
        parts[4],
        parts[5],
        longest,
        unknown,
        score,
    )


def _offset(unit: int) -> int:
    return (unit >> 10) << ((unit & 0x200) >> 6)


# --- many texts -------------------------------------------------------------------------------------------------------

# Some 15 MB of cached words and ids.
_MOST_WORDS = 100_000
_MOST_ENDS = 10_000
_SEPARATORS = " \n\t\r"


class WordTokens:
    """Texts → token ids, a word at a time, with a cache of words, since most words of a text occur again.

    No piece of the vocabulary spans two words, so words can be tokenized one by one. The tokenizer library takes 290 MB
    for 250,000 pieces; here the pieces are mapped, and the cache is bounded.
    """

    def __init__(self, vocabulary: UnigramVocabulary) -> None:
        self._vocabulary = vocabulary
        separators = [each for each in _SEPARATORS if vocabulary.replaced(each.encode()) == SPACE]
        self._separator = re.compile(f"[{re.escape(''.join(separators))}]")
        self._longest: Sequence[int] | None = None
        self._known: dict[str, Sequence[int]] = {}
        self._firsts: dict[str, list[int]] = {}
        self._lasts: dict[str, list[int]] = {}

    def token_ids(self, text: str) -> list[int]:
        """The same ids as `UnigramVocabulary.token_ids` for the whole text."""
        first, *others = self._separator.split(text)
        if not others:
            return self._vocabulary.token_ids(text)
        last = others.pop()
        ids = [*_cached(self._firsts, first, self._first)]
        for word in others:
            ids += self._inner(word)
        return ids + _cached(self._lasts, last, self._last)

    def _inner(self, word: str) -> Sequence[int]:
        """The ids of a word between others; none where replacements leave nothing of it."""
        known = self._known.get(word)
        if known is None:
            known = self._ids([METASPACE + part for part in self._parts(word) if part])
            if len(self._known) >= _MOST_WORDS:
                self._known.clear()
            self._known[word] = known
        return known

    def _first(self, word: str) -> list[int]:
        """The ids of the first word of several, with a space before it unless it begins with one."""
        first, *others = self._parts(word)
        begins = first.startswith(METASPACE)
        parts = [first if begins else METASPACE + first] if first else []
        return self._ids([*parts, *(METASPACE + part for part in others if part)])

    def _last(self, word: str) -> list[int]:
        """The ids of the last word of several; a space at the end of a text is a piece."""
        *others, last = self._parts(word)
        return self._ids([METASPACE + part for part in (*filter(None, others), last)])

    def _parts(self, word: str) -> list[bytes]:
        """The words that replacements make of a word: mostly the word itself."""
        return self._vocabulary.replaced(word.encode()).split(SPACE)

    def _ids(self, words: Sequence[bytes]) -> list[int]:
        return [token for word in words for token in self._segmented(word)]

    def _segmented(self, word: bytes) -> list[int]:
        """The ids of a word with a metaspace; with fewer look-ups as soon as something else has loaded numpy."""
        if self._longest is None and "numpy" in sys.modules:
            self._longest = self._vocabulary.longest_by_beginning()
        return self._vocabulary.segmented(word, self._longest)


def _cached(known: dict[str, list[int]], word: str, made: Callable[[str], list[int]]) -> list[int]:
    """The ids of a word at an end of a text; kept apart from those between others, of which there are many more."""
    ids = known.get(word)
    if ids is None:
        ids = made(word)
        if len(known) >= _MOST_ENDS:
            known.clear()
        known[word] = ids
    return ids


def word_tokens(path: Path) -> WordTokens:
    """The tokens of the vocabulary at `path`: one map and one cache of it in this process. Raises: ModelCorrupt."""
    try:
        found = os.stat(path)
    except OSError as error:
        raise ModelCorrupt(f"{path} cannot be read: {error}") from error
    file = (str(path), found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
    tokens = _in_use.get(file)
    if tokens is None:
        tokens = _in_use[file] = WordTokens(open_vocabulary(path))
    return tokens


# Those that something still refers to: an encoder, its judge and a counter of tokens read one file.
_in_use: WeakValueDictionary[tuple[str | int, ...], WordTokens] = WeakValueDictionary()
