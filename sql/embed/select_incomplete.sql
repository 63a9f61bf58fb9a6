-- Read how many chunks are not compared by their vectors; no row where all are.
-- What is compared is what the mirror holds: a vector that it lost counts as one that was not made yet.
-- returns one IncompleteMirror
-- column chunks INTEGER  all chunks but those of source code
-- column committed INTEGER  of them, with a vector in the mirror
WITH compared AS MATERIALIZED (
  SELECT
    (SELECT value FROM kv WHERE key = 'chunk_total') AS chunks,
    (SELECT count(*) FROM vec_primary_rowids) AS committed
  FROM embedding_slots
)
SELECT chunks, committed FROM compared WHERE committed < chunks;
