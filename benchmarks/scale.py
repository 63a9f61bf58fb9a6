"""How long a warm hybrid search takes beside the question's embedding, on 10,000, 100,000 and 1,000,000 passages.

Passages and vectors are made up by rule: texts of 100 words from 200,000, spread by Zipf's law; vectors of 384
dimensions around 500 centres that share a common direction (a cone, as sentence encoders make). Questions are eight
words of a passage, none of the 100 commonest (kb drops a question's function words), and its vector with noise. They
go straight into kb's tables, through kb's own statements, and are searched by a process of their own.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.knowledge_base import knowledge_base
from benchmarks.measurement import Cell, Measurement, Table, Target
from benchmarks.parent import end_with_parent
from benchmarks.processes import memory_of
from benchmarks.progress import step
from kb.config import Config, load
from kb.domain.embeddings import EmbeddingModel, VectorPlace
from kb.domain.search import QueryVectors, SearchMode, SearchQuery, SearchResult
from kb.operations.ingest.ingest import refresh_common_terms
from kb.operations.opening.base import open_base
from kb.operations.opening.vectors import ann_neighbours
from kb.operations.opening.writing import writing
from kb.operations.search.search import fusion_rule
from kb.retrieve.index import Index
from kb.retrieve.search import add_maxsim, search_hybrid
from kb.retrieve.terms import read_query
from kb.store import mirror, queries
from kb.store.connection import Connection, transaction
from kb.store.lance_table import LanceTable
from kb.store.mirror import ANN_PAYS_ABOVE_CHUNKS, ensure_mirror, load_vector_functions

SIZES = (10_000, 100_000, 1_000_000)
QUESTIONS = 40
WORDS, FUNCTION_WORDS, TEXT_WORDS, QUESTION_WORDS = 200_000, 100, 100, 8
CENTRES, SPREAD, NOISE = 500, 0.8, 0.3
BATCH, LANCE_BATCHES = 5_000, 10
NOW = "2026-01-01T00:00:00.000000Z"
MODEL = EmbeddingModel("synthetic", "1", 384, None)
RECALLED, LEAST_RECALL = 10, 0.98
ROUNDS, SCANNED = 3, 20

_BARE_WORDS = "SELECT rowid, rank FROM chunks_fts WHERE chunks_fts MATCH ? ORDER BY rank LIMIT ?"
_NEAREST = """
SELECT c.chunk_id FROM (SELECT chunk_rowid, distance FROM vec_primary WHERE embedding MATCH ? AND k = ?) AS v
JOIN chunks AS c USING (chunk_rowid) ORDER BY v.distance, c.chunk_id
"""
_SAYS = "Beside the question's embedding. The bare libraries fuse nothing, weigh nothing and read no text."

Result = TypeVar("Result")


class Question(NamedTuple):
    """Eight words of a passage, and its vector with noise (float32[384], L2 = 1)."""

    text: str
    vector: NDArray[np.float32]


class Limits(NamedTuple):
    """What a search may take on a quiet machine."""

    p50_ms: float
    p95_ms: float


LIMITS = {100_000: Limits(12.0, 20.0), 1_000_000: Limits(25.0, 45.0)}
RESIDENT_MB, INDEXING_MB = 1_500.0, 3_000.0


class Filled(NamedTuple):
    """An index that was made: questions about it, whether it has an ANN index, and what making it took."""

    questions: list[Question]
    is_ann: bool
    fill_s: float
    index_s: float
    peak_mb: float


class Searched(NamedTuple):
    """The questions' times on one index: on the clock, on the processor, and of bare libraries."""

    wall_ms: list[float]
    cpu_ms: list[float]
    words_ms: list[float]
    near_ms: list[float]
    recall: float
    resident_mb: float


def measure(data: Path | None, *, sizes: Sequence[int] = SIZES) -> Measurement:
    """Times, memory and the vector channel's recall for each size."""
    rows: list[tuple[Cell, ...]] = []
    bare: list[tuple[Cell, ...]] = []
    targets: list[Target] = []
    for size in sizes:
        with knowledge_base() as base:
            with step(f"{size:,} passages"):
                filled = _apart(fill_base, base.config_path, size)
            with step(f"{size:,} passages: {len(filled.questions)} questions"):
                searched = _apart(_searched, base.config_path, filled)
        p50, p95, cpu = median(searched.wall_ms), _p95(searched.wall_ms), median(searched.cpu_ms)
        words, near = (median(each) for each in (searched.words_ms, searched.near_ms))
        recall = round(searched.recall, 3)
        rows.append(
            (
                *(f"{size:,}", "ANN" if filled.is_ann else "exact"),
                *(round(value, 1) for value in (p50, p95, cpu)),
                recall,
                *(round(searched.resident_mb), round(filled.peak_mb), round(filled.fill_s), round(filled.index_s)),
            )
        )
        bare.append((f"{size:,}", *(round(value, 1) for value in (words, near)), round(cpu / (words + near), 2)))
        limits = LIMITS.get(size)
        if limits is not None:
            targets += [
                Target(f"{size:,} passages: p50 ms", round(p50, 1), "≤", limits.p50_ms),
                Target(f"{size:,} passages: p95 ms", round(p95, 1), "≤", limits.p95_ms),
                Target(f"{size:,} passages: recall@{RECALLED} of the vector channel", recall, "≥", LEAST_RECALL),
                Target(
                    f"{size:,} passages: resident MB of a process that searches",
                    round(searched.resident_mb),
                    "≤",
                    RESIDENT_MB,
                ),
                Target(f"{size:,} passages: peak MB while indexing", round(filled.peak_mb), "≤", INDEXING_MB),
            ]
    timed = ("p50 ms", "p95 ms", "processor p50 ms")
    sized = ("searching, resident MB", "indexing, peak MB", "fill s", "index s")
    tables = (
        Table("Warm hybrid search", ("passages", "neighbours", *timed, f"recall@{RECALLED}", *sized), tuple(rows)),
        Table(
            "The same by the bare libraries, processor p50 ms",
            ("passages", "FTS5, all words, first 100", "neighbours alone", "kb / both"),
            tuple(bare),
        ),
    )
    return Measurement("scale", tables, tuple(targets), {"rows": rows, "bare": bare}, (_SAYS,))


def _p95(times: Sequence[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)]


def _apart(work: Callable[[Path, Any], Result], config_path: Path, given: object) -> Result:
    """What a process of its own, whose memory is nobody else's, comes to."""
    with ProcessPoolExecutor(1, get_context("spawn"), end_with_parent, (os.getpid(),)) as pool:
        return pool.submit(work, config_path, given).result()


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def fill_base(config_path: Path, size: int) -> Filled:
    """Makes the knowledge base of a configuration, with `size` passages."""
    config = load(str(config_path), ())
    with writing(config.sqlite, with_vectors=True, create=True) as db:
        start = perf_counter()
        questions = fill(db, config.vector_dir, size)
        inserted = perf_counter()
        is_ann = size >= ANN_PAYS_ABOVE_CHUNKS
        if is_ann:
            lance = LanceTable(config.vector_dir, MODEL)
            lance.compact()
            lance.build_ann_index()
    return Filled(questions, is_ann, inserted - start, perf_counter() - inserted, _peak_mb())


def _searched(config_path: Path, filled: Filled) -> Searched:
    """The times of every question after a first round, which fills the caches."""
    config = load(str(config_path), ())
    words_ms, near_ms, shares = [], [], []
    wall_ms, cpu_ms = [], []
    depth = fusion_rule(config).candidate_depth
    with open_base(config, many=True) as session, session.reading() as base:
        load_vector_functions(base.db)
        add_maxsim(base.db)
        ann = LanceTable(config.vector_dir, MODEL) if filled.is_ann else None
        search = partial(_search, base.db, ann)
        for round_number in range(ROUNDS + 1):
            for question in filled.questions:
                wall, cpu = perf_counter(), process_time()
                search(question, "hybrid")
                if round_number:
                    wall_ms.append(1000 * (perf_counter() - wall))
                    cpu_ms.append(1000 * (process_time() - cpu))
        resident_mb = memory_of(os.getpid()).resident_mb
        for question in filled.questions:
            words = " OR ".join(question.text.split())
            words_ms.append(_cpu_ms(partial(_words, base.db, words, depth)))
            near_ms.append(_cpu_ms(partial(_near, base.db, ann, question.vector.tobytes(), depth)))
        for question in filled.questions[:SCANNED]:
            wanted = set(_nearest(base.db, question.vector.tobytes(), depth)[:RECALLED])
            found = {hit.chunk_id for hit in search(question, "vector").hits[:RECALLED]}
            shares.append(len(wanted & found) / RECALLED)
    return Searched(wall_ms, cpu_ms, words_ms, near_ms, float(np.mean(shares)), resident_mb)


def _cpu_ms(work: Callable[[], object]) -> float:
    """Processor milliseconds of a second run."""
    work()
    start = process_time()
    work()
    return 1000 * (process_time() - start)


def _words(db: Connection, words: str, depth: int) -> object:
    return db.execute(_BARE_WORDS, (words, depth)).fetchall()


def _near(db: Connection, ann: LanceTable | None, vector: bytes, depth: int) -> object:
    if ann is None:
        return _nearest(db, vector, depth)
    return ann_neighbours(ann, vector, depth)


def _nearest(db: Connection, vector: bytes, depth: int) -> list[str]:
    """The ids of the exactly nearest chunks."""
    return [row[0] for row in db.execute(_NEAREST, (vector, depth))]


def _search(db: Connection, ann: LanceTable | None, question: Question, mode: SearchMode) -> SearchResult:
    """One search as kb makes it, the question's vector given: terms, neighbours, the statement, snippets."""
    rule, vector = fusion_rule(Config()), question.vector.tobytes()
    neighbours = None if ann is None else ann_neighbours(ann, vector, rule.candidate_depth)
    index = Index(db)
    return search_hybrid(
        index,
        SearchQuery(question.text, mode, 10),
        read_query(index, question.text),
        QueryVectors(vector, None, neighbours),
        rule,
        snippet_chars=220,
        index_version="",
        embedding_model=MODEL.name,
    )


def fill(db: Connection, vector_dir: VectorPlace, size: int) -> list[Question]:
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
        ensure_mirror(db, MODEL, None, NOW)
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
    queries.insert_asset(
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
    queries.insert_document(
        db,
        doc_id="d",
        asset_id="a",
        workspace_path="a.md",
        title="",
        lang="en",
        languages_json='["en"]',
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
        source="workspace",
        committed_at=None,
        committed_by=None,
    )


def _insert_batch(db: Connection, first: int, texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
    with transaction(db):
        queries.open_arriving_chunks(db)
        queries.insert_arriving_chunks(db, _chunk_rows(first, texts))
        queries.insert_chunks(db)
        rowids = range(first + 1, first + len(texts) + 1)
        mirror.write_vectors(
            db,
            [
                {"chunk_rowid": rowid, "lang": "en", "embedding": vector.tobytes()}
                for rowid, vector in zip(rowids, vectors, strict=True)
            ],
        )


def _write_lance(lance: LanceTable, end: int, vectors: NDArray[np.float32]) -> None:
    """Writes the vectors of the passages before `end`."""
    lance.upsert([_chunk_id(at) for at in range(end - len(vectors), end)], ["en"] * len(vectors), vectors)


def _chunk_id(at: int) -> str:
    return f"{at:032x}"


def _chunk_rows(first: int, texts: Sequence[str]) -> Iterator[queries.ChunkRow]:
    for at, text in enumerate(texts, first):
        yield {
            "chunk_id": _chunk_id(at),
            "doc_id": "d",
            "ordinal": at,
            "text": text,
            "heading_path_json": "[]",
            "section_label": None,
            "source_spans_json": '[{"kind":"line","start":1,"end":1}]',
            "token_estimate": 0,
            "chunker_version": "",
            "policy_hash": "",
            "block_ids_json": "[]",
            "created_at": NOW,
            "lang": "en",
            "heading_text": "",
            "tokenized_korean_text": None,
            "name_text": "",
            "symbol_text": None,
            "doc_text": None,
            "identifier_text": None,
            "nfc_text": None,
        }
