"""The label of a ranking: the statements that ranked, each with its version, and the weights they ranked by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kb.domain.search import FusionRule, SearchMode
from kb.store.connection import Connection
from kb.store.rows import retrieve_queries as queries
from kb.store.sqlfile import statement_label

if TYPE_CHECKING:
    from kb.domain.reranking import Reranker


def lexical_ranking(db: Connection) -> str:
    """Of a search by words: `search_lexical-2/bm25(0,0,1,1,1,3)`."""
    return "/".join([statement_label("retrieve/search_lexical.sql"), _word_weights(db)])


def hybrid_ranking(db: Connection, mode: SearchMode, rule: FusionRule, reranker: Reranker | None) -> str:
    """Of a search by meaning: `search_hybrid-3/bm25(…)/linear-1a2b3c4d/candidates-1/reading@rank-1`.

    The hash is that of all constants of the fusion rule. A search by meaning alone weighs nothing.
    """
    from zlib import crc32

    label = [statement_label("retrieve/search_hybrid.sql")]
    if mode == "vector":
        return "/".join([*label, "cosine"])
    label += [_word_weights(db), f"{rule.fusion}-{crc32(repr(tuple(rule)).encode()):08x}"]
    if reranker is not None:
        label += [statement_label("read/candidates.sql"), reranker.name]
    return "/".join(label)


def _word_weights(db: Connection) -> str:
    row = queries.select_lexical_weights(db)
    return "bm25" if row is None else row.weights
