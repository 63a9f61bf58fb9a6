"""The Lance tables that stand, by model: which are searched, which wait to be configured, which only take room."""

from __future__ import annotations

from kb.domain.results.upkeep import VectorTable
from kb.operations.embedding.plan import EmbeddingPlan
from kb.store import queries
from kb.store.connection import Connection, transaction
from kb.store.lance_table import remove_tables, table_sizes
from kb.store.mirror import mirrored


def vector_tables(db: Connection, plan: EmbeddingPlan) -> list[VectorTable]:
    """Every table, by name. `configured`: the configuration names its model, and no run has come to it yet."""
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
