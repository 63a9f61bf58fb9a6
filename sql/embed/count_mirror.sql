-- Count the mirror's rows, and the chunks it should have and has not.
-- returns one MirrorCounts
-- param lance_table TEXT  the Lance table the mirror follows
-- column rows INTEGER  rows of the mirror
-- column missing INTEGER  committed records without a row
-- column orphans INTEGER  rows without a chunk
SELECT
  (SELECT count(*) FROM vec_primary_rowids) AS rows,
  (
    SELECT count(*) FROM embedding_records AS r
    WHERE r.lance_table = :lance_table AND r.status = 'committed'
      AND NOT EXISTS (SELECT 1 FROM vec_primary_rowids AS v WHERE v.rowid = r.chunk_rowid)
  ) AS missing,
  (
    SELECT count(*) FROM vec_primary_rowids AS v
    WHERE NOT EXISTS (SELECT 1 FROM chunks AS c WHERE c.chunk_rowid = v.rowid)
  ) AS orphans;
