-- List vectors of chunks that are gone.
-- returns many Tombstone
-- param lance_table TEXT  where the vectors are
-- param row_limit INTEGER  at most so many
-- column lance_table TEXT  where the vector is
-- column chunk_id TEXT  the chunk that was
SELECT lance_table, chunk_id
FROM vector_tombstones
WHERE lance_table = :lance_table
ORDER BY chunk_id
LIMIT :row_limit;
