"""The Lance tables that stand, by model: which are searched, which wait to be configured, which only take room."""

from __future__ import annotations

from kb.domain.results.upkeep import VectorTable
from kb.operations.embedding.plan import EmbeddingPlan
from kb.store.connection import Connection, transaction
from kb.store.rows import embed_queries as queries
from kb.store.vectors.lance_table import remove_tables, table_sizes


def vector_tables(db: Connection, plan: EmbeddingPlan) -> list[VectorTable]:
    """Every table, by name. `configured`: the configuration names its model, and no run has come to it yet."""
    sizes = table_sizes(plan.vector_dir)
    configured = {name.casefold() for name in plan.models.values()}
    tables = {
        row.lance_table: VectorTable(
            row.lance_table,
            row.model_id,
            row.dimensions,
            row.vectors,
            sizes.pop(row.lance_table, 0),
            row.slot or ("configured" if row.model_id.casefold() in configured else None),
        )
        for row in queries.select_vector_tables(db)
    }
    in_use = {row.lance_table: row for row in queries.select_slots(db)}
    for name, size_bytes in sizes.items():
        slot = in_use.get(name)
        tables[name] = VectorTable(
            name, slot and slot.model_id, slot and slot.dimensions, 0, size_bytes, slot and slot.slot
        )
    return [tables[name] for name in sorted(tables)]


def drop_unused(db: Connection, plan: EmbeddingPlan) -> list[VectorTable]:
    """Removes the tables that are neither searched nor configured; returns them. The cache keeps their vectors a while.

    SQLite forgets a table before its files go, so a run that ends between the two leaves files the next one removes.
    """
    unused = [table for table in vector_tables(db, plan) if table.used_as is None]
    for table in unused:
        with transaction(db):
            queries.delete_table_records(db, lance_table=table.lance_table)
            queries.delete_table_tombstones(db, lance_table=table.lance_table)
    remove_tables(plan.vector_dir, [table.lance_table for table in unused])
    return unused
