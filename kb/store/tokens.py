"""Words as the lexical index holds them: folded and stemmed by the very tokenizer of chunks_fts."""

from __future__ import annotations

import apsw

from kb.store.connection import Connection

# As migrations/0007_names.sql declares chunks_fts.
_TOKENIZER = ("porter", ["unicode61", "remove_diacritics", "2"])


def indexed_token(db: Connection, word: str) -> str | None:
    """The one token `word` is indexed as; None where it is several or none."""
    tokenize = db.fts5_tokenizer(*_TOKENIZER)
    utf8 = word.encode("utf-8", "replace")
    tokens = list(tokenize(utf8, apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False, include_colocated=False))
    return str(tokens[0]) if len(tokens) == 1 else None
