"""Keeps the two vector stores equal: tombstones, either store rebuilt from the other, the language means."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kb.domain.embeddings import EmbeddingModel
from kb.domain.run_handle import RunHandle, StepProgress
from kb.embed.passage import PASSAGE_VERSION
from kb.errors import ModelMissing, StoreError, VectorsUnusable
from kb.operations.opening.clock import now_utc
from kb.store.connection import Connection, transaction
from kb.store.rows import embed_queries as queries
from kb.store.rows.mirror_queries import MirrorKey, MirrorRow, MirrorVector
from kb.store.vectors import mirror
from kb.store.vectors.lance_table import LanceTable, build_dir, remove_tables, replace_table, table_sizes
from kb.store.vectors.vector_tables import Slot, has_mirror, remake_mirror, slots

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BATCH = 4096

MEANS_VERSION = "mean-v1"


def slot_model(slot: queries.EmbeddingSlot) -> EmbeddingModel:
    """The model a slot holds vectors of."""
    return EmbeddingModel(slot.model_id, slot.model_version, slot.dimensions, None)


def clear_tombstones(db: Connection, slot: Slot | None, lance: LanceTable) -> int:
    """Removes the vectors of chunks that are gone from Lance and from the slot's mirror; returns how many."""
    cleared = 0
    while stones := queries.select_tombstones(db, lance_table=lance.name, row_limit=_BATCH):
        lance.delete([stone.chunk_id for stone in stones])
        with transaction(db):
            if slot is not None:
                mirror.delete_vectors(db, slot, [MirrorKey(stone.chunk_rowid) for stone in stones])
            queries.delete_tombstones(db, [queries.TombstoneKey(row.lance_table, row.chunk_id) for row in stones])
        cleared += len(stones)
    return cleared


def scrub_vectors(db: Connection, vector_dir: Path, handle: RunHandle) -> None:
    """Removes the vectors of chunks that are gone, and leaves no trace of them: both stores are written again.

    The tables of models that are not in use go whole.
    """
    held = slots(db)
    in_use = {row.lance_table for row in held.values()}
    others = {row.lance_table for row in queries.select_vector_tables(db)} | set(table_sizes(vector_dir))
    with transaction(db):
        for name in others - in_use:
            queries.delete_table_records(db, lance_table=name)
            queries.delete_table_tombstones(db, lance_table=name)
    remove_tables(vector_dir, sorted(others - in_use))
    for row in held.values():
        slot, model = slot_name(row), slot_model(row)
        lance = LanceTable(vector_dir, model, "if_missing")
        has_ann = lance.has_ann_index()
        clear_tombstones(db, slot, lance)
        remake_lance(db, slot, row, vector_dir, handle)
        lance = LanceTable(vector_dir, model)
        _refill_mirror(db, slot, row, lance, handle)
        if (state := queries.select_slot_state(db, slot=slot, passage_version=PASSAGE_VERSION)) is not None:
            update_language_means(db, slot, row.dimensions, state.means_origin)
        if has_ann:
            lance.build_ann_index()


def restore_mirror(
    db: Connection, slot: Slot, lance: LanceTable, on_restored: Callable[[int], None] = lambda restored: None
) -> int:
    """Commits the pending chunks whose vectors Lance has; returns how many. The others are embedded again.

    `on_restored` is told how many after each batch.
    """
    restored, after = 0, 0
    while rows := queries.select_pending_chunks(db, slot=slot, after_rowid=after, row_limit=_BATCH):
        after = rows[-1].chunk_rowid
        vectors = lance.read([row.chunk_id for row in rows])
        found = [row for row in rows if row.chunk_id in vectors]
        commit(db, slot, lance.name, found, [vectors[row.chunk_id] for row in found], None)
        restored += len(found)
        on_restored(restored)
    return restored


def commit(
    db: Connection,
    slot: Slot | None,
    lance_table: str,
    chunks: Sequence[queries.PendingChunk | queries.UnembeddedChunk],
    vectors: Sequence[bytes],
    passage_version: str | None,
    tokens: Sequence[queries.KeptTokens] = (),
) -> None:
    """The last step of the write protocol: vectors that Lance has go into the slot's mirror and are declared committed.

    `passage_version` is the form of the text they were made from; None where their records say so already. `tokens`:
    what was made with them; they are where they were when vectors alone are restored.
    """
    rows = [MirrorRow(chunk.chunk_rowid, chunk.lang, vector) for chunk, vector in zip(chunks, vectors, strict=True)]
    now = now_utc()
    with mirror.vector_transaction(db):
        if slot is not None:
            mirror.write_vectors(db, slot, rows)
            queries.insert_languages(
                db, [queries.NewLanguage(slot, lang, now) for lang in sorted({row.lang for row in rows})]
            )
        queries.insert_tokens(db, tokens)
        queries.commit_records(
            db,
            lance_table=lance_table,
            chunk_ids_json=json.dumps([chunk.chunk_id for chunk in chunks]),
            passage_version=passage_version,
        )


def rebuild_mirror(db: Connection, vector_dir: Path, handle: RunHandle) -> int:
    """Rebuilds every mirror table from Lance; returns how many vectors were restored.

    Searches see the old table until the new one is whole.
    Raises: StoreError, with nothing changed, where Lance cannot be read or has fewer vectors than the mirror.
    """
    restored = 0
    for row in slots(db).values():
        slot = slot_name(row)
        lance = LanceTable(vector_dir, slot_model(row))
        held = mirror.count_vectors(db, slot, row.lance_table)
        if held is not None and held.rows - held.orphans > lance.count():
            raise StoreError(
                f"SQLite has {held.rows - held.orphans} vectors of {row.model_id}, Lance only {lance.count()}",
                "kb index --rebuild-lance",
            )
        restored += _refill_mirror(db, slot, row, lance, handle)
    return restored


def rebuild_lance(db: Connection, vector_dir: Path, handle: RunHandle) -> int:
    """Rebuilds every active model's Lance table from the mirror; returns how many vectors were restored.

    Raises: StoreError, with nothing changed, where the mirror has fewer vectors than Lance.
    """
    restored = 0
    for row in slots(db).values():
        slot, model = slot_name(row), slot_model(row)
        held = mirror.count_vectors(db, slot, row.lance_table)
        whole = held is not None and not held.missing
        if not whole and _lance_count(vector_dir, model) > (held.rows if held else 0):
            raise StoreError(f"SQLite lacks vectors of {row.model_id} that Lance has", "kb index --rebuild-mirror")
        restored += remake_lance(db, slot, row, vector_dir, handle)
        if not whole:  # what neither store has is embedded again
            _refill_mirror(db, slot, row, LanceTable(vector_dir, model), handle)
    return restored


def remake_lance(db: Connection, slot: Slot, row: queries.EmbeddingSlot, vector_dir: Path, handle: RunHandle) -> int:
    """Makes a slot's Lance table again from the mirror, beside the old one until it is whole; returns its vectors."""
    lance = LanceTable(build_dir(vector_dir), slot_model(row), "replace")
    total = mirror.count_rows(db, slot)
    tell = _teller(handle, f"Lance table of {row.model_id}", total or 0)
    written = 0
    for batch in _mirror_batches(db, slot) if total else ():
        matrix = np.stack([np.frombuffer(vector.embedding, "<f4") for vector in batch])
        lance.upsert([vector.chunk_id for vector in batch], [vector.lang for vector in batch], matrix)
        written += len(batch)
        tell(written)
    lance.compact()
    replace_table(vector_dir, lance.name)
    return written


def level_mirror(db: Connection, slot: Slot, lance_table: str) -> None:
    """Makes a mirror and its records name the same chunks: what it lacks becomes pending, what is in excess goes.

    The caller's transaction.
    """
    mirror.reset_unmirrored(db, slot, lance_table)
    mirror.delete_vectors(db, slot, mirror.uncommitted(db, slot, lance_table))


def forget_differing(db: Connection, vector_dir: Path) -> int:
    """Forgets the vectors of which the two stores have not the same; they are made again. Returns how many.

    A Lance table that is not there or damaged has nothing to compare: it is made again from the mirror.
    """
    forgotten = 0
    for row in slots(db).values():
        slot = slot_name(row)
        if not has_mirror(db, slot):
            continue
        with suppress(VectorsUnusable):
            lance = LanceTable(vector_dir, slot_model(row))
            for batch in _mirror_batches(db, slot):
                stored = lance.read([vector.chunk_id for vector in batch])
                differing = [each for each in batch if stored.get(each.chunk_id, each.embedding) != each.embedding]
                lance.delete([each.chunk_id for each in differing])
                with mirror.vector_transaction(db):
                    mirror.delete_vectors(db, slot, [MirrorKey(each.chunk_rowid) for each in differing])
                forgotten += len(differing)
    return forgotten


def _refill_mirror(db: Connection, slot: Slot, row: queries.EmbeddingSlot, lance: LanceTable, handle: RunHandle) -> int:
    """Rebuilds a mirror table with what Lance has, in one transaction; the rest is pending afterwards."""
    with mirror.vector_transaction(db):
        remake_mirror(db, slot, row.dimensions)
        queries.reset_records(db, lance_table=row.lance_table)
        tell = _teller(handle, f"SQLite table of {row.model_id}", lance.count())
        return restore_mirror(db, slot, lance, tell)


def _teller(handle: RunHandle, step: str, total: int) -> Callable[[int], None]:
    """Tells how many of a table's `total` vectors are written; told at once that none is."""

    def tell(done: int) -> None:
        handle.tell(StepProgress(step, done, total, "vectors"))

    tell(0)
    return tell


def _lance_count(vector_dir: Path, model: EmbeddingModel) -> int:
    """The vectors of a Lance table; 0 where it cannot be read."""
    try:
        return LanceTable(vector_dir, model).count()
    except StoreError:
        return 0


def build_ann(db: Connection, vector_dir: Path, handle: RunHandle) -> int:
    """Builds the primary model's ANN index; returns how many vectors it holds."""
    row = slots(db).get("primary")
    if row is None:
        raise ModelMissing("this knowledge base has no vectors yet", "kb index --embeddings")
    lance = LanceTable(vector_dir, slot_model(row))
    handle.tell(StepProgress(f"ANN index of {row.model_id}", 0, 0, "vectors"))
    lance.build_ann_index()
    return lance.count()


def update_language_means(db: Connection, slot: Slot, dimensions: int, origin: str) -> None:
    """Computes each language's mean vector from the mirror: data of the correction across languages.

    `origin` says which vectors the mirror holds: where it is another one, the means are computed again.
    """
    sums: dict[str, NDArray[np.float64]] = {}
    counts: Counter[str] = Counter()
    for batch in _mirror_batches(db, slot):
        matrix = np.frombuffer(b"".join(vector.embedding for vector in batch), "<f4").reshape(-1, dimensions)
        langs = np.array([vector.lang for vector in batch])
        for lang in sorted(set(langs.tolist())):
            of_lang = matrix[langs == lang]
            sums[lang] = sums.get(lang, np.zeros(dimensions)) + of_lang.sum(axis=0, dtype=np.float64)
            counts[lang] += len(of_lang)
    now = now_utc()
    with transaction(db):
        queries.delete_language_means(db, slot=slot)
        for lang, count in sorted(counts.items()):
            mean = (sums[lang] / count).astype("<f4")
            queries.upsert_language_mean(
                db,
                slot=slot,
                lang=lang,
                chunks=count,
                mean=mean.tobytes(),
                norm=float(np.linalg.norm(mean)),
                version=MEANS_VERSION,
                origin=origin,
                updated_at=now,
            )


def _mirror_batches(db: Connection, slot: Slot) -> Iterator[list[MirrorVector]]:
    after = 0
    while batch := mirror.read_vectors(db, slot, after_rowid=after, row_limit=_BATCH):
        after = batch[-1].chunk_rowid
        yield batch


def slot_name(row: queries.EmbeddingSlot) -> Slot:
    """The slot a row describes."""
    return "primary" if row.slot == "primary" else "secondary"
