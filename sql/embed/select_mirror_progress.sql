-- Read how far the mirror is from complete, without looking at a vector.
-- returns one MirrorProgress
-- param passage_version TEXT  form of the text that is embedded
-- column chunks INTEGER  all chunks but those of source code
-- column committed INTEGER  of them, with a vector in both stores
-- column current INTEGER  of the committed, made from this form of the text
-- column pending INTEGER  written to one store at most
-- column kept INTEGER  passages with tokens under the model
-- column whole INTEGER  of them, with a committed vector and of the right size
-- column tombstones INTEGER  vectors of chunks that are gone, still to be removed
SELECT
  (SELECT count(*) FROM chunks WHERE symbol_text IS NULL) AS chunks,
  count(*) FILTER (WHERE r.status = 'committed') AS committed,
  count(*) FILTER (WHERE r.status = 'committed' AND r.passage_version = :passage_version) AS current,
  count(*) FILTER (WHERE r.status = 'pending') AS pending,
  (SELECT count(*) FROM chunk_tokens AS t WHERE t.model_id = s.model_id) AS kept,
  count(*) FILTER (
    WHERE r.status = 'committed'
      AND k.components = s.dimensions AND length(k.tokens) = k.count * (k.components / 2 + 2)
  ) AS whole,
  (SELECT count(*) FROM vector_tombstones AS t WHERE t.lance_table = s.lance_table) AS tombstones
FROM embedding_slots AS s
LEFT JOIN embedding_records AS r USING (model_id, model_version, dimensions)
LEFT JOIN chunk_tokens AS k ON k.chunk_rowid = r.chunk_rowid AND k.model_id = r.model_id
WHERE s.slot = 'primary'
GROUP BY s.slot;
