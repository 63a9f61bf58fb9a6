-- Count the chunks, and those with a committed or pending vector under a model.
-- version 1
-- param model_id TEXT  the model
-- param model_version TEXT  version of its weights
-- param dimensions INTEGER  of its vectors
-- column chunks INTEGER  all chunks
-- column committed INTEGER  in both stores
-- column pending INTEGER  written to one store at most
SELECT
  (SELECT count(*) FROM chunks) AS chunks,
  count(*) FILTER (WHERE status = 'committed') AS committed,
  count(*) FILTER (WHERE status = 'pending') AS pending
FROM embedding_records
WHERE model_id = :model_id AND model_version = :model_version AND dimensions = :dimensions;
