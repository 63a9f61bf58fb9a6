-- Count the chunks, and those with a committed or pending vector under a model.
-- returns one EmbeddedCounts
-- param model_id TEXT  the model
-- param model_version TEXT  version of its weights
-- param dimensions INTEGER  of its vectors
-- param passage_version TEXT  form of the text that is embedded
-- column chunks INTEGER  all chunks but those of source code
-- column committed INTEGER  in both stores
-- column pending INTEGER  written to one store at most
-- column outdated INTEGER  of the committed, made from another form of the text
SELECT
  (SELECT count(*) FROM chunks WHERE symbol_text IS NULL) AS chunks,
  count(*) FILTER (WHERE status = 'committed') AS committed,
  count(*) FILTER (WHERE status = 'pending') AS pending,
  count(*) FILTER (WHERE status = 'committed' AND passage_version <> :passage_version) AS outdated
FROM embedding_records
WHERE model_id = :model_id AND model_version = :model_version AND dimensions = :dimensions;
