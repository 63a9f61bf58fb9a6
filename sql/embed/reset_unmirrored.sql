-- Declare vectors uncommitted that the mirror should hold and does not.
-- param lance_table TEXT  the Lance table the mirror follows
UPDATE embedding_records SET status = 'pending'
WHERE lance_table = :lance_table AND status = 'committed'
  AND NOT EXISTS (SELECT 1 FROM vec_primary_rowids AS v WHERE v.rowid = embedding_records.chunk_rowid);
