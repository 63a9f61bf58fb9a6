-- List the chunks of some documents, of which the nearest are looked for.
-- returns many ChunkAmong
-- param doc_ids_json TEXT?  JSON array of documents, from select_eligible_documents; NULL = any
-- param passages_json TEXT?  JSON array of their chunk_rowids that may be found; NULL = all of theirs
-- param favoured_json TEXT?  JSON array of documents, of which they must be too; NULL = any
-- column chunk_id TEXT  the chunk
SELECT chunk_id
FROM chunks
WHERE symbol_text IS NULL
  AND (:doc_ids_json IS NULL OR doc_id IN (SELECT value FROM json_each(:doc_ids_json)))
  AND (:passages_json IS NULL OR chunk_rowid IN (SELECT value FROM json_each(:passages_json)))
  AND (:favoured_json IS NULL OR doc_id IN (SELECT value FROM json_each(:favoured_json)))
ORDER BY chunk_id;
