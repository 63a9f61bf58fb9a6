-- Read the numbers of chunks, to mirror their vectors.
-- returns many ChunkOfId
-- param chunk_ids_json TEXT  JSON array of chunk ids
-- column chunk_rowid INTEGER  the chunk's number
-- column chunk_id TEXT  the chunk
-- column lang TEXT  language of the chunk's text
SELECT c.chunk_rowid, c.chunk_id, c.lang
FROM json_each(:chunk_ids_json) AS named
CROSS JOIN chunks AS c ON c.chunk_id = named.value
ORDER BY c.chunk_rowid;
