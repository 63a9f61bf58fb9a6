-- Read how far a slot is from complete, without looking at a vector.
-- version 3
-- param slot TEXT  primary or secondary
-- param passage_version TEXT  form of the text that is embedded
-- column chunks INTEGER  all chunks but those of source code
-- column committed INTEGER  of them, with a vector in both stores
-- column current INTEGER  of the committed, made from this form of the text
-- column tombstones INTEGER  vectors of chunks that are gone, still to be removed
-- column averaged INTEGER  vectors that the languages' means were computed from
SELECT
  (SELECT count(*) FROM chunks WHERE symbol_text IS NULL) AS chunks,
  (
    SELECT count(*) FROM embedding_records AS r
    WHERE r.model_id = s.model_id AND r.model_version = s.model_version AND r.dimensions = s.dimensions
      AND r.status = 'committed'
  ) AS committed,
  (
    SELECT count(*) FROM embedding_records AS r
    WHERE r.model_id = s.model_id AND r.model_version = s.model_version AND r.dimensions = s.dimensions
      AND r.status = 'committed' AND r.passage_version = :passage_version
  ) AS current,
  (SELECT count(*) FROM vector_tombstones AS t WHERE t.lance_table = s.lance_table) AS tombstones,
  (SELECT coalesce(sum(m.chunks), 0) FROM language_means AS m WHERE m.slot = s.slot) AS averaged
FROM embedding_slots AS s
WHERE s.slot = :slot;
