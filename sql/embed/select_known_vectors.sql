-- Read which vectors a Lance table may hold, of those named: hidden documents count too.
-- returns many KnownVector
-- param lance_table TEXT  the table
-- param chunk_ids_json TEXT  JSON array of chunk ids
-- column chunk_id TEXT  the chunk
-- column status TEXT  committed: the table must hold it; pending; removed: the chunk is gone, its vector may still be there
WITH named AS (SELECT value AS chunk_id FROM json_each(:chunk_ids_json))
SELECT n.chunk_id AS chunk_id, r.status AS status
FROM named AS n
CROSS JOIN main.embedding_records AS r ON r.chunk_id = n.chunk_id
WHERE r.lance_table = :lance_table
UNION ALL
SELECT n.chunk_id, 'removed' AS status
FROM named AS n
CROSS JOIN vector_tombstones AS t ON t.chunk_id = n.chunk_id
WHERE t.lance_table = :lance_table
ORDER BY chunk_id, status;
