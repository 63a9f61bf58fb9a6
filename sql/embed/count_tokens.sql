-- Count the passages with tokens under a model, and what is wrong with them.
-- returns one TokenCounts
-- param model_id TEXT  the model
-- param model_version TEXT  version of its weights
-- param components INTEGER  numbers of a row
-- column passages INTEGER  with tokens
-- column missing INTEGER  passages with a committed vector and without tokens
-- column unusable INTEGER  tokens of the wrong size, or of chunks that are gone
-- column bytes INTEGER  of all tokens
SELECT
  count(*) AS passages,
  (
    SELECT count(*) FROM embedding_records AS r
    WHERE r.model_id = :model_id AND r.model_version = :model_version AND r.status = 'committed' AND NOT EXISTS (
      SELECT 1 FROM chunk_tokens AS t WHERE t.chunk_rowid = r.chunk_rowid AND t.model_id = r.model_id
    )
  ) AS missing,
  count(*) FILTER (
    WHERE components <> :components OR length(tokens) <> count * (components / 2 + 2)
      OR NOT EXISTS (SELECT 1 FROM chunks AS c WHERE c.chunk_rowid = k.chunk_rowid)
  ) AS unusable,
  coalesce(sum(length(tokens)), 0) AS bytes
FROM chunk_tokens AS k
WHERE model_id = :model_id;
