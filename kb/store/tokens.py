"""Words as the lexical index stores them: folded and stemmed by the tokenizer of chunks_fts."""

from __future__ import annotations

from functools import cache
from string import punctuation, whitespace

import apsw

from kb.store.connection import Connection

# As migrations/0007_names.sql declares chunks_fts.
_TOKENIZER = ("porter", ["unicode61", "remove_diacritics", "2"])
# Its stemmer alone: every character belongs to the word.
_STEMMER = ("porter", ["ascii", "tokenchars", punctuation + whitespace])


def indexed_token(db: Connection, word: str) -> str | None:
    """The one token as which `word` is indexed; None if it becomes no token or several."""
    return _only_token(db.fts5_tokenizer(*_TOKENIZER), word)


def stem(word: str) -> str:
    """The stem of a word in the index; the word must be in lower case and without accents."""
    found = _only_token(_stemmer(), word)
    return word if found is None else found


@cache
def _stemmer() -> apsw.FTS5Tokenizer:
    return apsw.Connection(":memory:").fts5_tokenizer(*_STEMMER)


def _only_token(tokenizer: apsw.FTS5Tokenizer, word: str) -> str | None:
    utf8 = word.encode("utf-8", "replace")
    tokens = list(tokenizer(utf8, apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False, include_colocated=False))
    return str(tokens[0]) if len(tokens) == 1 else None
