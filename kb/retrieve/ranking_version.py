"""The label of a ranking: the statements that ranked, the weights they ranked by, and the code that read the question.

A statement is named by its version, which no changed one keeps; code and word lists by a hash that tools/generate makes
of them, `terms` of what makes terms of a question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kb.domain.search import FusionRule, SearchMode
from kb.language.lists import rows
from kb.store import queries
from kb.store.connection import Connection
from kb.store.sqlfile import statement_label

if TYPE_CHECKING:
    from kb.domain.candidates import PairOrder


def lexical_ranking(db: Connection) -> str:
    """Of a search by words: `search_lexical-2/bm25(0,0,1,1,1,3)/terms-5e6f7a8b`."""
    return "/".join([statement_label("retrieve/search_lexical.sql"), _word_weights(db), _code("terms")])


def hybrid_ranking(db: Connection, mode: SearchMode, rule: FusionRule, pairs: PairOrder | None = None) -> str:
    """Of a search by meaning: what ranked by words and meaning, and by a cross-encoder.

    `search_hybrid-9/bm25(…)/terms-5e6f7a8b/linear-1a2b3c4d`; the hash is that of the rule's constants.
    A search by meaning alone weighs nothing.
    """
    from zlib import crc32

    label = [statement_label("retrieve/search_hybrid.sql")]
    if mode == "vector":
        return "/".join([*label, "cosine"])
    label += [_word_weights(db), _code("terms"), f"{rule.hybrid_fusion}-{crc32(repr(tuple(rule)).encode()):08x}"]
    if pairs is not None:
        label += [f"cross_encoder@{pairs.scorer.label}@{pairs.passages}"]
    return "/".join(label)


def code_ranking(of_notes: str, weights_version: str) -> str:
    """Of hits with source code among them: what ranked the notes, then `search_code-4/code-1/code-1a2b3c4d`."""
    return "/".join([of_notes, statement_label("retrieve/search_code.sql"), weights_version, _code("code")])


def _code(part: str) -> str:
    return f"{part}-{rows('ranking_code')[part][0]}"


def _word_weights(db: Connection) -> str:
    row = queries.select_lexical_weights(db)
    return "bm25" if row is None else row.weights
