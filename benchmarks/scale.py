"""How long a warm hybrid search takes beside the question's embedding, on 10,000, 100,000 and 1,000,000 passages.

Passages and vectors are made up by rule: texts of 100 words from 200,000, spread by Zipf's law; vectors of 384
dimensions around 500 centres that share a common direction (a cone, as sentence encoders make). Questions are eight
words of a passage, none of the 100 commonest (kb drops a question's function words), and its vector with noise. They
go straight into kb's tables, through kb's own statements.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.knowledge_base import knowledge_base
from benchmarks.measurement import Measurement, Table, Target
from kb.domain.embeddings import EmbeddingModel
from kb.domain.search import FusionRule, QueryVectors, SearchQuery
from kb.operations.common_terms import refresh_common_terms
from kb.operations.vector_upkeep import update_language_means
from kb.operations.writing import writing
from kb.retrieve.search import search_hybrid
from kb.store import embed_queries, ingest_queries, mirror
from kb.store.connection import Connection, transaction
from kb.store.lance_table import LanceTable
from kb.store.vector_tables import ANN_PAYS_ABOVE_CHUNKS, ensure_slot

SIZES = (10_000, 100_000, 1_000_000)
LIMIT_MS = {10_000: 10.0, 100_000: 25.0, 1_000_000: 60.0}
QUESTIONS = 40
WORDS, FUNCTION_WORDS, TEXT_WORDS, QUESTION_WORDS = 200_000, 100, 100, 8
CENTRES, SPREAD, NOISE = 500, 0.8, 0.3
BATCH = 5_000
NOW = "2026-01-01T00:00:00.000000Z"
MODEL = EmbeddingModel("synthetic", "1", 384, None)
RECALLED = 10


class Question(NamedTuple):
    """Eight words of a passage, and its vector with noise (float32[384], L2 = 1)."""

    text: str
    vector: NDArray[np.float32]


def measure(data: Path | None, *, sizes: Sequence[int] = SIZES) -> Measurement:
    """Median times and the ANN index's recall for each size."""
    rows: list[tuple[str | int | float, ...]] = []
    targets: list[Target] = []
    for size in sizes:
        with knowledge_base() as base, writing(base.config.sqlite, with_vectors=True) as db:
            questions = fill(db, base.config.vector_dir, size)
            lance = LanceTable(base.config.vector_dir, MODEL)
            ann = size >= ANN_PAYS_ABOVE_CHUNKS
            start = perf_counter()
            if ann:
                lance.build_ann_index()
            build_s = perf_counter() - start
            times = [_search_ms(db, lance if ann else None, question) for question in questions]
            recall = float(np.mean([_recall(db, lance, question) for question in questions[:20]])) if ann else 1.0
        p50, p95 = median(times), sorted(times)[int(len(times) * 0.95)]
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        source = "ANN" if ann else "exact"
        rows.append((size, source, round(p50, 1), round(p95, 1), round(recall, 3), round(build_s, 1), peak_mb))
        targets.append(Target(f"{size} passages: p50 ms", round(p50, 1), "≤", LIMIT_MS[size]))
        targets.append(Target(f"{size} passages: recall@{RECALLED} of the vector channel", round(recall, 3), "≥", 0.98))
    columns = ("passages", "neighbours", "p50 ms", "p95 ms", "recall@10", "index s", "peak MB so far")
    return Measurement("scale", (Table("Warm hybrid search", columns, tuple(rows)),), tuple(targets), {"rows": rows})


def fill(db: Connection, vector_dir: Path, size: int) -> list[Question]:
    """Fills an empty knowledge base with `size` passages; returns questions about some of them."""
    random = np.random.default_rng(7)
    centres = random.normal(size=(CENTRES, MODEL.dimensions)).astype("f4")
    cone = 2 * random.normal(size=MODEL.dimensions).astype("f4")
    shares = 1 / np.arange(1, WORDS + 1)
    cumulated = np.cumsum(shares / shares.sum())
    asked = set(random.choice(size, QUESTIONS, replace=False).tolist())
    questions: list[Question] = []
    lance = LanceTable(vector_dir, MODEL, "anew")
    with transaction(db):
        ensure_slot(db, "primary", MODEL, NOW)
        _insert_document(db)
    for first in range(0, size, BATCH):
        count = min(BATCH, size - first)
        words = np.searchsorted(cumulated, random.random((count, TEXT_WORDS)))
        vectors = centres[random.integers(0, CENTRES, count)] + cone
        vectors += SPREAD * random.normal(size=vectors.shape).astype("f4")
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        _insert_batch(db, lance, first, words, vectors)
        for at in asked & set(range(first, first + count)):
            noisy = vectors[at - first] + NOISE * random.normal(size=MODEL.dimensions).astype("f4") / 20
            content = np.unique(words[at - first][words[at - first] >= FUNCTION_WORDS])
            chosen = random.choice(content, QUESTION_WORDS, replace=False)
            questions.append(Question(" ".join(map(_word, chosen)), (noisy / np.linalg.norm(noisy)).astype("f4")))
    refresh_common_terms(db)
    update_language_means(db, "primary", MODEL.dimensions)
    return questions


def _word(number: int) -> str:
    """A made-up word, the same for the same number, no stem of another."""
    letters = "bcdfghjklmnpqrtvwx"
    vowels = "aou"
    shown = ""
    for _ in range(4):
        number, consonant = divmod(number, len(letters))
        number, vowel = divmod(number, len(vowels))
        shown += letters[consonant] + vowels[vowel]
    return shown + "k"


def _insert_document(db: Connection) -> None:
    ingest_queries.insert_asset(
        db,
        asset_id="a",
        source_uri="a.md",
        workspace_path="a.md",
        media_type="markdown",
        byte_len=0,
        checksum="",
        storage_kind="reference",
        storage_path="a.md",
        discovered_at=NOW,
    )
    ingest_queries.insert_document(
        db,
        doc_id="d",
        asset_id="a",
        workspace_path="a.md",
        title="",
        lang="en",
        source_type="markdown",
        trust_level="primary",
        parser_version="",
        doc_version=1,
        schema_version=1,
        metadata_json="{}",
        provenance_json="{}",
        created_at=NOW,
        updated_at=NOW,
        source_path="a.md",
        byte_len=0,
        mtime_ns=0,
        pipeline_version="",
    )


def _insert_batch(
    db: Connection, lance: LanceTable, first: int, words: NDArray[np.int64], vectors: NDArray[np.float32]
) -> None:
    ids = [f"{first + at:032x}" for at in range(len(words))]
    with transaction(db):
        ingest_queries.insert_chunks(db, _chunk_rows(ids, first, words))
        rowids = range(first + 1, first + len(words) + 1)
        mirror.write_vectors(
            db,
            "primary",
            [
                embed_queries.MirrorRow(rowid, "en", vector.tobytes())
                for rowid, vector in zip(rowids, vectors, strict=True)
            ],
        )
    lance.upsert(ids, ["en"] * len(ids), vectors)


def _chunk_rows(ids: Sequence[str], first: int, words: NDArray[np.int64]) -> Iterator[ingest_queries.ChunkRow]:
    for at, chunk_id in enumerate(ids):
        yield ingest_queries.ChunkRow(
            chunk_id=chunk_id,
            doc_id="d",
            ordinal=first + at,
            text=" ".join(map(_word, words[at])),
            heading_path_json="[]",
            section_label=None,
            source_spans_json='[{"kind":"line","start":1,"end":1}]',
            token_estimate=0,
            chunker_version="",
            policy_hash="",
            block_ids_json="[]",
            created_at=NOW,
            lang="en",
            heading_text="",
            tokenized_korean_text=None,
        )


def _search_ms(db: Connection, lance: LanceTable | None, question: Question) -> float:
    """Milliseconds of one search, its vector given: terms, neighbours, the statement, snippets."""
    rule = FusionRule()
    start = perf_counter()
    neighbours = None
    if lance is not None:
        near = lance.nearest(question.vector.tolist(), rule.depth, "en")
        neighbours = tuple((hit.chunk_id, hit.distance) for hit in near)
    search_hybrid(
        db,
        SearchQuery(question.text, "hybrid", 10),
        QueryVectors(question.vector.tobytes(), None, neighbours),
        rule,
        snippet_chars=220,
        index_version="",
        embedding_model=MODEL.name,
    )
    return 1000 * (perf_counter() - start)


def _recall(db: Connection, lance: LanceTable, question: Question) -> float:
    """The share of the exactly nearest ten that the ANN index gives."""
    near = {hit.chunk_id for hit in lance.nearest(question.vector.tolist(), FusionRule().depth, "en")[:RECALLED]}
    exact = embed_queries.select_nearest_primary(db, embedding=question.vector.tobytes(), k=RECALLED)
    return len(near & {row.chunk_id for row in exact}) / RECALLED
