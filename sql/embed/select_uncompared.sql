-- Read how many chunks have no committed vector, where there is no mirror; no row where all have one.
-- returns one IncompleteMirror
-- column chunks INTEGER  all chunks but those of source code
-- column committed INTEGER  of them, with a vector
WITH compared AS MATERIALIZED (
  SELECT
    (SELECT value FROM kv WHERE key = 'chunk_total') AS chunks,
    (
      SELECT count(*) FROM embedding_records AS r
      WHERE r.status = 'committed'
        AND (r.model_id, r.model_version, r.dimensions) = (s.model_id, s.model_version, s.dimensions)
    ) AS committed
  FROM embedding_slots AS s
  WHERE s.slot = 'primary'
)
SELECT chunks, committed FROM compared WHERE committed < chunks;
