"""Keeps the two vector stores equal (by tombstones, or by rebuilding one from the other), and lists their tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from pathlib import Path

from kb.domain.embeddings import EmbeddingModel, VectorAddress, VectorPlace
from kb.domain.results.upkeep import VectorTable
from kb.domain.run_handle import RunHandle, StepProgress
from kb.errors import ModelMissing, StoreError, VectorsUnusable
from kb.operations.embedding.plan import EmbeddingPlan
from kb.store import mirror, queries
from kb.store.connection import Connection, transaction
from kb.store.lance_table import LanceTable, Rows, build_dir, remove_tables, replace_table, table_sizes
from kb.store.mirror import has_mirror, mirrored, remake_mirror

_BATCH = 4096


def model_of(row: queries.MirroredModel) -> EmbeddingModel:
    """The model of a row of the mirror."""
    return EmbeddingModel(row.model_id, row.model_version, row.dimensions, None)


def clear_tombstones(db: Connection, lance: LanceTable) -> int:
    """Removes the vectors of deleted chunks from Lance (`level_mirror`: from the mirror); returns how many."""
    cleared = 0
    while stones := queries.select_tombstones(db, lance_table=lance.name, row_limit=_BATCH):
        lance.delete([stone.chunk_id for stone in stones])
        with transaction(db):
            queries.delete_tombstones(
                db, [{"lance_table": row.lance_table, "chunk_id": row.chunk_id} for row in stones]
            )
        cleared += len(stones)
    return cleared


def scrub_vectors(db: Connection, vector_dir: VectorPlace, handle: RunHandle) -> None:
    """Rewrites both stores without a trace of deleted chunks' vectors; deletes the tables of unused models."""
    row = mirrored(db)
    in_use = {row.lance_table} if row is not None else set[str]()
    drop_tables(db, vector_dir, every_table(db, vector_dir) - in_use)
    if row is None:
        return
    lance = LanceTable(vector_dir, model_of(row), "if_missing")
    has_ann = lance.has_ann_index()
    if has_mirror(db):
        with mirror.vector_transaction(db):
            level_mirror(db, row.lance_table)
    clear_tombstones(db, lance)
    remake_lance(db, row, vector_dir, handle)
    lance = LanceTable(vector_dir, model_of(row))
    if has_mirror(db):
        _refill_mirror(db, row, lance, handle)
    else:
        lance.index_ids()
    if has_ann:
        lance.build_ann_index()


def restore_mirror(db: Connection, lance: LanceTable, tell: Callable[[int], None] = lambda restored: None) -> int:
    """Commits the pending chunks whose vectors are in Lance, and returns how many; the others will be embedded again.

    `tell` gets the count after each batch.
    """
    restored, after = 0, 0
    while rows := queries.select_pending_chunks(db, after_rowid=after, row_limit=_BATCH):
        after = rows[-1].chunk_rowid
        vectors = lance.read([row.chunk_id for row in rows])
        found = [row for row in rows if row.chunk_id in vectors]
        commit(db, lance.name, found, [vectors[row.chunk_id] for row in found], None, is_mirrored=True)
        restored += len(found)
        tell(restored)
    return restored


def commit(
    db: Connection,
    lance_table: str,
    chunks: Sequence[queries.PendingChunk | queries.UnembeddedChunk],
    vectors: Sequence[bytes],
    passage_version: str | None,
    tokens: Sequence[queries.KeptTokens] = (),
    *,
    is_mirrored: bool,
) -> None:
    """The last step of writing vectors: to the mirror if `is_mirrored`; their records are then committed.

    `passage_version` is the form of the embedded text; None if the records have it already. `tokens` are those of the
    same run; stored tokens stay if only vectors are restored.
    """
    rows: list[queries.MirrorRow] = [
        {"chunk_rowid": chunk.chunk_rowid, "lang": chunk.lang, "embedding": vector}
        for chunk, vector in zip(chunks, vectors, strict=True)
    ]
    with mirror.vector_transaction(db):
        if is_mirrored:
            mirror.write_vectors(db, rows)
        queries.insert_tokens(db, tokens)
        queries.commit_records(
            db,
            lance_table=lance_table,
            chunk_ids_json=json.dumps([chunk.chunk_id for chunk in chunks]),
            passage_version=passage_version,
        )


def committed_vectors(db: Connection, lance: LanceTable) -> Iterator[list[tuple[str, str, bytes]]]:
    """The chunk ids, languages and vectors of the committed chunks that Lance has, in the order of their ids."""
    after = ""
    while rows := queries.select_committed(db, after_id=after, row_limit=_BATCH):
        after = rows[-1].chunk_id
        found = lance.read([row.chunk_id for row in rows])
        yield [(row.chunk_id, row.lang, found[row.chunk_id]) for row in rows if row.chunk_id in found]


def fill_mirror(db: Connection, vector_dir: VectorPlace, handle: RunHandle) -> bool:
    """Makes the mirror if a copied database lacks it; returns whether it did."""
    row = mirrored(db)
    if row is None or has_mirror(db):
        return False
    _refill_mirror(db, row, LanceTable(vector_dir, model_of(row)), handle)
    return True


def rebuild_mirror(db: Connection, vector_dir: VectorPlace, handle: RunHandle) -> int:
    """Rebuilds the mirror from Lance and returns how many vectors were restored. Tokens, which Lance lacks, stay.

    Searches see the old table until the new one is complete. Raises: StoreError, with nothing changed, if Lance cannot
    be read or has fewer vectors than the mirror.
    """
    row = mirrored(db)
    if row is None:
        return 0
    lance = LanceTable(vector_dir, model_of(row))
    held = mirror.count_vectors(db, row.lance_table)
    if held is not None and held.rows - held.orphans > lance.count():
        raise StoreError(
            f"SQLite has {held.rows - held.orphans} vectors of {row.model_id}, Lance only {lance.count()}",
            "kb index --rebuild-lance",
        )
    return _refill_mirror(db, row, lance, handle)


def rebuild_lance(db: Connection, vector_dir: VectorPlace, handle: RunHandle) -> int:
    """Rebuilds the searched model's Lance table from the mirror; returns how many vectors were restored.

    Raises: StoreError, with nothing changed, if the mirror has fewer vectors than Lance.
    """
    row = mirrored(db)
    if row is None:
        return 0
    if not has_mirror(db):
        raise StoreError(
            "Lance alone has the vectors: there is no mirror", "kb index --embeddings embeds what it lacks"
        )
    held = mirror.count_vectors(db, row.lance_table)
    whole = held is not None and not held.missing
    in_lance = 0
    with suppress(StoreError):  # a table that cannot be read is made again
        in_lance = 0 if whole else LanceTable(vector_dir, model_of(row)).count()
    if in_lance > (held.rows if held else 0):
        raise StoreError(f"SQLite lacks vectors of {row.model_id} that Lance has", "kb index --rebuild-mirror")
    restored = remake_lance(db, row, vector_dir, handle)
    if not whole:  # vectors missing in both stores are embedded again
        _refill_mirror(db, row, LanceTable(vector_dir, model_of(row)), handle)
    return restored


def remake_lance(db: Connection, row: queries.MirroredModel, vector_dir: VectorPlace, handle: RunHandle) -> int:
    """Rebuilds a Lance table from the mirror, or without a mirror from itself; returns the number of vectors.

    In a folder the new table is built next to the old one; at an address it is written in one commit.
    """
    total = mirror.count_rows(db)
    held = None if has_mirror(db) else LanceTable(vector_dir, model_of(row))
    tell = _teller(handle, f"Lance table of {row.model_id}", total or 0)
    written = 0

    def rows() -> Iterator[Rows]:
        nonlocal written
        import numpy as np

        mirrors = ([(each.chunk_id, each.lang, each.embedding) for each in batch] for batch in _mirror_batches(db))
        for batch in committed_vectors(db, held) if held is not None else mirrors if total else ():
            chunk_ids, langs, vectors = zip(*batch, strict=True)
            yield chunk_ids, langs, np.frombuffer(b"".join(vectors), "<f4").reshape(len(batch), -1)
            written += len(batch)
            tell(written)

    if isinstance(vector_dir, VectorAddress):
        lance = LanceTable(vector_dir, model_of(row), "replace", rows())
    else:
        lance = LanceTable(build_dir(vector_dir), model_of(row), "replace")
        for each in rows():
            lance.upsert(*each)
        lance.compact()
        replace_table(vector_dir, lance.name)
    with transaction(db):
        queries.upsert_lance_version(db, lance_table=lance.name, version=lance.version)
    return written


def complete_lance(db: Connection, row: queries.MirroredModel, vector_dir: VectorPlace) -> None:
    """Rebuilds a Lance table from the mirror if it has fewer vectors than that."""
    in_lance = 0
    with suppress(VectorsUnusable):
        in_lance = LanceTable(vector_dir, model_of(row)).count()
    if in_lance < (mirror.count_rows(db) or 0):
        remake_lance(db, row, vector_dir, RunHandle())


def has_ann(db: Connection, vector_dir: VectorPlace) -> bool:
    """Whether the searched model's table has an ANN index."""
    row = mirrored(db)
    with suppress(VectorsUnusable):
        return row is not None and LanceTable(vector_dir, model_of(row)).has_ann_index()
    return False


def copy_lance(db: Connection, target: Path, *, with_ann: bool, handle: RunHandle) -> None:
    """Makes a Lance table of the mirror's vectors in the folder `target`."""
    if (row := mirrored(db)) is None:
        return
    remake_lance(db, row, target, handle)
    if with_ann:
        LanceTable(target, model_of(row)).build_ann_index()


def drop_copied_mirror(db: Connection, vector_dir: Path) -> None:
    """Drops the mirror of a copied database, so that only Lance has the vectors, as in the original."""
    row = mirrored(db)
    assert row is not None
    LanceTable(vector_dir, model_of(row)).index_ids()
    with transaction(db):
        mirror.leave_mirror(db, model_of(row), row, "")
    db.execute("VACUUM")


def level_mirror(db: Connection, lance_table: str) -> None:
    """Makes records without a vector in the mirror pending, and removes the mirror's vectors without a record.

    Runs in the caller's transaction.
    """
    queries.reset_unmirrored(db, lance_table=lance_table)
    uncommitted = queries.select_uncommitted(db, lance_table=lance_table)
    queries.delete_mirror(db, [{"chunk_rowid": row.chunk_rowid} for row in uncommitted])


def forget_differing(db: Connection, vector_dir: VectorPlace) -> int:
    """Removes the vectors that differ between the two stores, so that they are embedded again; returns how many.

    A missing or damaged Lance table is rebuilt from the mirror; without one, what Lance lacks is embedded again.
    """
    row, forgotten = mirrored(db), 0
    if row is None:
        return 0
    if not has_mirror(db):
        try:
            lance = LanceTable(vector_dir, model_of(row))
            lacking = lacking_vectors(db, lance)
        except VectorsUnusable:  # nothing else has them: what the cache lacks is embedded again
            drop_tables(db, vector_dir, {row.lance_table})
            return 0
        with transaction(db):
            queries.reset_records(db, lance_table=lance.name, chunk_ids_json=json.dumps(lacking))
            queries.upsert_lance_version(db, lance_table=lance.name, version=lance.version)
        return len(lacking)
    with suppress(VectorsUnusable):
        lance = LanceTable(vector_dir, model_of(row))
        for batch in _mirror_batches(db):
            stored = lance.read([vector.chunk_id for vector in batch])
            differing = [each for each in batch if stored.get(each.chunk_id, each.embedding) != each.embedding]
            lance.delete([each.chunk_id for each in differing])
            with mirror.vector_transaction(db):
                queries.delete_mirror(db, [{"chunk_rowid": each.chunk_rowid} for each in differing])
            forgotten += len(differing)
    return forgotten


def lacking_vectors(db: Connection, lance: LanceTable) -> list[str]:
    """The committed chunks whose vectors Lance lacks."""
    held, after, lacking = lance.ids(), "", list[str]()
    while rows := queries.select_committed(db, after_id=after, row_limit=_BATCH):
        after = rows[-1].chunk_id
        lacking += [row.chunk_id for row in rows if row.chunk_id not in held]
    return lacking


def _refill_mirror(db: Connection, row: queries.MirroredModel, lance: LanceTable, handle: RunHandle) -> int:
    """Rebuilds the mirror from Lance in one transaction; chunks without a vector there become pending."""
    with mirror.vector_transaction(db):
        remake_mirror(db, row.dimensions)
        queries.reset_records(db, lance_table=row.lance_table, chunk_ids_json=None)
        tell = _teller(handle, f"SQLite table of {row.model_id}", lance.count())
        return restore_mirror(db, lance, tell)


def _teller(handle: RunHandle, step: str, total: int) -> Callable[[int], None]:
    """A function that reports how many of a table's `total` vectors are written; reports 0 at once."""

    def tell(done: int) -> None:
        handle.tell(StepProgress(step, done, total, "vectors"))

    tell(0)
    return tell


def build_ann(db: Connection, vector_dir: VectorPlace, handle: RunHandle) -> int:
    """Builds the ANN index of the searched model, and returns how many vectors it has."""
    row = mirrored(db)
    if row is None:
        raise ModelMissing("this knowledge base has no vectors yet", "kb index --embeddings")
    lance = LanceTable(vector_dir, model_of(row))
    handle.tell(StepProgress(f"ANN index of {row.model_id}", 0, 0, "vectors"))
    lance.build_ann_index()
    return lance.count()


def _mirror_batches(db: Connection) -> Iterator[list[queries.MirrorVector]]:
    after = 0
    while batch := queries.select_mirror(db, after_rowid=after, row_limit=_BATCH):
        after = batch[-1].chunk_rowid
        yield batch


def vector_tables(db: Connection, plan: EmbeddingPlan) -> list[VectorTable]:
    """All vector tables, by name. `used_as` is `configured` for a model that no run has used yet."""
    sizes = table_sizes(plan.vector_dir)
    configured = plan.model.casefold() if plan.model is not None else None
    tables = {
        row.lance_table: VectorTable(
            row.lance_table,
            row.model_id,
            row.dimensions,
            row.vectors,
            sizes.pop(row.lance_table, 0),
            row.slot or ("configured" if row.model_id.casefold() == configured else None),
        )
        for row in queries.select_vector_tables(db)
    }
    held = mirrored(db)
    for name, size_bytes in sizes.items():
        tables[name] = VectorTable(name, None, None, 0, size_bytes, None)
        if held is not None and name == held.lance_table:
            tables[name] = VectorTable(name, held.model_id, held.dimensions, 0, size_bytes, "primary")
    return [tables[name] for name in sorted(tables)]


def drop_unused(db: Connection, plan: EmbeddingPlan) -> list[VectorTable]:
    """Removes and returns the tables whose model is neither searched nor configured; the cache keeps their vectors."""
    unused = [table for table in vector_tables(db, plan) if table.used_as is None]
    drop_tables(db, plan.vector_dir, {table.lance_table for table in unused})
    return unused


def every_table(db: Connection, vector_dir: VectorPlace) -> set[str]:
    """The names of all tables that have records or files."""
    return {row.lance_table for row in queries.select_vector_tables(db)} | set(table_sizes(vector_dir))


def drop_tables(db: Connection, vector_dir: VectorPlace, names: AbstractSet[str]) -> None:
    """Removes tables, their rows before their files, so that after a crash the next run removes the files."""
    with transaction(db):
        for name in names:
            queries.delete_table(db, lance_table=name)
    remove_tables(vector_dir, sorted(names))
