-- Read which models have not embedded every chunk but those of source code, and how far they are; no row where all have.
-- Chunks are embedded in the order of their rowids, and a new chunk has the highest: where one lacks its vector, the
-- newest does too, or its record is pending. So a complete index is told without counting it.
-- version 2
-- column slot TEXT  primary or secondary
-- column chunks INTEGER  all chunks but those of source code
-- column committed INTEGER  of them, with a vector in both stores
SELECT
  s.slot,
  (SELECT count(*) FROM chunks WHERE symbol_text IS NULL) AS chunks,
  (
    SELECT count(*) FROM embedding_records AS r
    WHERE r.model_id = s.model_id AND r.model_version = s.model_version AND r.dimensions = s.dimensions
      AND r.status = 'committed'
  ) AS committed
FROM embedding_slots AS s
WHERE EXISTS (
    SELECT 1 FROM embedding_records AS r
    WHERE r.model_id = s.model_id AND r.model_version = s.model_version AND r.dimensions = s.dimensions
      AND r.status = 'pending'
  )
  OR EXISTS (
    SELECT 1 FROM (SELECT c.chunk_id FROM chunks AS c WHERE c.symbol_text IS NULL ORDER BY c.chunk_rowid DESC LIMIT 1) AS newest
    WHERE NOT EXISTS (
      SELECT 1 FROM embedding_records AS r
      WHERE r.chunk_id = newest.chunk_id AND r.model_id = s.model_id AND r.model_version = s.model_version
        AND r.dimensions = s.dimensions AND r.status = 'committed'
    )
  )
ORDER BY committed, s.slot;
