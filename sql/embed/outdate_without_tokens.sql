-- Declare vectors outdated whose passages should have tokens beside them and have none: both are made again.
-- param lance_table TEXT  where the vectors are
UPDATE embedding_records
SET passage_version = ''
WHERE lance_table = :lance_table AND status = 'committed' AND NOT EXISTS (
  SELECT 1 FROM chunk_tokens AS t
  WHERE t.chunk_rowid = embedding_records.chunk_rowid AND t.model_id = embedding_records.model_id
);
