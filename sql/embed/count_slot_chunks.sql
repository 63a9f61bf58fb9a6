-- Count the chunks that each model in use has embedded, of all that are embedded.
-- returns many kb.domain.embeddings.SlotCoverage
-- column slot TEXT  primary or secondary
-- column model_id TEXT  the model
-- column chunks INTEGER  all chunks but those of source code
-- column embedded INTEGER  those with a vector in both stores
SELECT s.slot, s.model_id,
  (SELECT count(*) FROM chunks WHERE symbol_text IS NULL) AS chunks,
  (SELECT count(*) FROM embedding_records AS r
   WHERE r.model_id = s.model_id AND r.model_version = s.model_version AND r.dimensions = s.dimensions
     AND r.status = 'committed') AS embedded
FROM embedding_slots AS s
ORDER BY s.slot;
