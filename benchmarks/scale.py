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
from time import perf_counter, process_time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.knowledge_base import knowledge_base
from benchmarks.measurement import Measurement, Table, Target
from kb.config import Config
from kb.domain.embeddings import EmbeddingModel
from kb.domain.search import QueryVectors, SearchMode, SearchQuery, SearchResult
from kb.operations.embedding.vector_upkeep import update_language_means
from kb.operations.ingest.common_terms import refresh_common_terms
from kb.operations.opening.writer import writing
from kb.operations.search.search import fusion_rule
from kb.operations.session.vectors import ann_neighbours
from kb.retrieve.hybrid import search_hybrid
from kb.retrieve.terms import read_query
from kb.store.connection import Connection, transaction
from kb.store.rows import ingest_queries, mirror_queries
from kb.store.vectors import mirror
from kb.store.vectors.lance_table import LanceTable
from kb.store.vectors.vector_tables import ANN_PAYS_ABOVE_CHUNKS, ensure_slot

SIZES = (10_000, 100_000, 1_000_000)
LIMIT_MS = {10_000: 10.0, 100_000: 25.0, 1_000_000: 60.0}
QUESTIONS = 40
WORDS, FUNCTION_WORDS, TEXT_WORDS, QUESTION_WORDS = 200_000, 100, 100, 8
CENTRES, SPREAD, NOISE = 500, 0.8, 0.3
BATCH, LANCE_BATCHES = 5_000, 10
NOW = "2026-01-01T00:00:00.000000Z"
MODEL = EmbeddingModel("synthetic", "1", 384, None)
RECALLED, LEAST_RECALL = 10, 0.98
ROUNDS, SCANNED = 3, 20


class Question(NamedTuple):
    """Eight words of a passage, and its vector with noise (float32[384], L2 = 1)."""

    text: str
    vector: NDArray[np.float32]


class Searched(NamedTuple):
    """The questions' times on one index: wall and processor milliseconds, and processor milliseconds of bare scans."""

    wall_ms: list[float]
    cpu_ms: list[float]
    scan_ms: list[float]
    recall: float


def measure(data: Path | None, *, sizes: Sequence[int] = SIZES) -> Measurement:
    """Median times and the vector channel's recall for each size."""
    rows: list[tuple[str | int | float, ...]] = []
    targets: list[Target] = []
    for size in sizes:
        with knowledge_base() as base, writing(base.config.sqlite, with_vectors=True) as db:
            start = perf_counter()
            questions = fill(db, base.config.vector_dir, size)
            filled = perf_counter()
            ann = LanceTable(base.config.vector_dir, MODEL) if size >= ANN_PAYS_ABOVE_CHUNKS else None
            if ann is not None:
                ann.compact()
                ann.build_ann_index()
            indexed = perf_counter()
            searched = _search_all(db, ann, questions)
        p50, p95 = median(searched.wall_ms), sorted(searched.wall_ms)[int(len(searched.wall_ms) * 0.95)]
        times = (p50, p95, median(searched.cpu_ms), median(searched.scan_ms))
        rows.append(
            (
                *(size, "ANN" if ann else "exact"),
                *(round(value, 1) for value in times),
                round(searched.recall, 3),
                *(round(filled - start), round(indexed - filled)),
                resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            )
        )
        targets.append(Target(f"{size:,} passages: p50 ms", round(p50, 1), "≤", LIMIT_MS[size]))
        recall = round(searched.recall, 3)
        targets.append(Target(f"{size:,} passages: recall@{RECALLED} of the vector channel", recall, "≥", LEAST_RECALL))
    timed = ("p50 ms", "p95 ms", "processor p50 ms", "bare vec0 scan, processor p50 ms")
    columns = ("passages", "neighbours", *timed, f"recall@{RECALLED}", "fill s", "index s", "peak MB so far")
    return Measurement("scale", (Table("Warm hybrid search", columns, tuple(rows)),), tuple(targets), {"rows": rows})


def _search_all(db: Connection, ann: LanceTable | None, questions: Sequence[Question]) -> Searched:
    """The times of every question in the second round; the first fills the caches."""
    wall_ms, cpu_ms, scan_ms, shares = [], [], [], []
    for round_number in range(ROUNDS + 1):
        for question in questions:
            wall, cpu = perf_counter(), process_time()
            _search(db, ann, question, "hybrid")
            if round_number:
                wall_ms.append(1000 * (perf_counter() - wall))
                cpu_ms.append(1000 * (process_time() - cpu))
    depth = fusion_rule(Config()).depth
    for question in questions[:SCANNED]:
        cpu = process_time()
        exact = mirror_queries.select_nearest_primary(db, embedding=question.vector.tobytes(), k=depth)
        scan_ms.append(1000 * (process_time() - cpu))
        wanted = {row.chunk_id for row in exact[:RECALLED]}
        found = {hit.chunk_id for hit in _search(db, ann, question, "vector").hits[:RECALLED]}
        shares.append(len(wanted & found) / RECALLED)
    return Searched(wall_ms, cpu_ms, scan_ms, float(np.mean(shares)))


def _search(db: Connection, ann: LanceTable | None, question: Question, mode: SearchMode) -> SearchResult:
    """One search as kb makes it, the question's vector given: terms, neighbours, the statement, snippets."""
    rule, vector = fusion_rule(Config()), question.vector.tobytes()
    neighbours = None if ann is None else ann_neighbours(ann, vector, rule.depth, ["en"])
    return search_hybrid(
        db,
        SearchQuery(question.text, mode, 10),
        read_query(db, question.text),
        QueryVectors(vector, None, neighbours),
        rule,
        snippet_chars=220,
        index_version="",
        embedding_model=MODEL.name,
    )


def fill(db: Connection, vector_dir: Path, size: int) -> list[Question]:
    """Fills an empty knowledge base with `size` passages; returns questions about some of them."""
    random = np.random.default_rng(7)
    centres = random.normal(size=(CENTRES, MODEL.dimensions)).astype("f4")
    cone = 2 * random.normal(size=MODEL.dimensions).astype("f4")
    shares = 1 / np.arange(1, WORDS + 1)
    cumulated = np.cumsum(shares / shares.sum())
    asked = set(random.choice(size, QUESTIONS, replace=False).tolist())
    questions: list[Question] = []
    vocabulary = [_word(number) for number in range(WORDS)]
    lance = LanceTable(vector_dir, MODEL, "replace")
    for_lance: list[NDArray[np.float32]] = []
    with transaction(db):
        ensure_slot(db, "primary", MODEL, NOW)
        _insert_document(db)
    for first in range(0, size, BATCH):
        count = min(BATCH, size - first)
        words = np.searchsorted(cumulated, random.random((count, TEXT_WORDS)))
        vectors = centres[random.integers(0, CENTRES, count)] + cone
        vectors += SPREAD * random.normal(size=vectors.shape).astype("f4")
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        _insert_batch(db, first, [" ".join([vocabulary[word] for word in text]) for text in words.tolist()], vectors)
        for_lance.append(vectors)
        if len(for_lance) == LANCE_BATCHES or first + count == size:
            _write_lance(lance, first + count, np.concatenate(for_lance))
            for_lance.clear()
        for at in asked & set(range(first, first + count)):
            noisy = vectors[at - first] + NOISE * random.normal(size=MODEL.dimensions).astype("f4") / 20
            content = np.unique(words[at - first][words[at - first] >= FUNCTION_WORDS])
            chosen = random.choice(content, QUESTION_WORDS, replace=False)
            questions.append(
                Question(" ".join(vocabulary[word] for word in chosen), (noisy / np.linalg.norm(noisy)).astype("f4"))
            )
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


def _insert_batch(db: Connection, first: int, texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
    with transaction(db):
        ingest_queries.open_arriving_chunks(db)
        ingest_queries.insert_arriving_chunks(db, _chunk_rows(first, texts))
        ingest_queries.insert_chunks(db)
        rowids = range(first + 1, first + len(texts) + 1)
        mirror.write_vectors(
            db,
            "primary",
            [
                mirror_queries.MirrorRow(rowid, "en", vector.tobytes())
                for rowid, vector in zip(rowids, vectors, strict=True)
            ],
        )


def _write_lance(lance: LanceTable, end: int, vectors: NDArray[np.float32]) -> None:
    """Writes the vectors of the passages before `end`."""
    lance.upsert([_chunk_id(at) for at in range(end - len(vectors), end)], ["en"] * len(vectors), vectors)


def _chunk_id(at: int) -> str:
    return f"{at:032x}"


def _chunk_rows(first: int, texts: Sequence[str]) -> Iterator[ingest_queries.ChunkRow]:
    for at, text in enumerate(texts, first):
        yield ingest_queries.ChunkRow(
            chunk_id=_chunk_id(at),
            doc_id="d",
            ordinal=at,
            text=text,
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
            name_text="",
            symbol_text=None,
            doc_text=None,
            identifier_text=None,
            nfc_text=None,
        )
