-- List the vectors of the mirror that no committed record names.
-- returns many ChunkRowid
-- param lance_table TEXT  the Lance table the mirror follows
-- column chunk_rowid INTEGER  the number of the chunk, or of one that is gone
SELECT v.rowid AS chunk_rowid
FROM vec_primary_rowids AS v
WHERE v.rowid NOT IN (
  SELECT r.chunk_rowid FROM embedding_records AS r WHERE r.lance_table = :lance_table AND r.status = 'committed'
)
ORDER BY v.rowid;
