-- Find the exactly nearest chunks under the primary model.
-- returns many NearestChunk
-- param embedding BLOB  float32 little-endian, L2 = 1
-- param k INTEGER  how many
-- column chunk_id TEXT  the chunk
-- column distance REAL  1 − cosine
SELECT c.chunk_id, v.distance
FROM (
  SELECT chunk_rowid, distance FROM vec_primary WHERE embedding MATCH :embedding AND k = :k
) AS v
JOIN chunks AS c USING (chunk_rowid)
ORDER BY v.distance, c.chunk_id;
