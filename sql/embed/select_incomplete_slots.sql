-- Read in which models chunks are not compared, and how many are; no row where all are.
-- What is compared is what the mirror holds: a vector that it lost counts as one that was not made yet.
-- version 3
-- column slot TEXT  primary or secondary
-- column chunks INTEGER  all chunks but those of source code
-- column committed INTEGER  of them, with a vector in the mirror
WITH compared AS MATERIALIZED (
  SELECT
    slot,
    (SELECT value FROM kv WHERE key = 'chunk_total') AS chunks,
    iif(
      slot = 'primary',
      (SELECT count(*) FROM vec_primary_rowids),
      (SELECT count(*) FROM vec_secondary_rowids)
    ) AS committed
  FROM embedding_slots
)
SELECT slot, chunks, committed FROM compared WHERE committed < chunks ORDER BY committed, slot;
