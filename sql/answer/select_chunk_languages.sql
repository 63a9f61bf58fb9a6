-- Read the language of chunks.
-- returns many ChunkLanguage
-- param chunk_ids_json TEXT  JSON array of chunk ids
-- column chunk_id TEXT  the chunk
-- column lang TEXT  its language
SELECT chunk_id, lang
FROM chunks
WHERE chunk_id IN (SELECT value FROM json_each(:chunk_ids_json))
ORDER BY chunk_id;
