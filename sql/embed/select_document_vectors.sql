-- Read the first vectors of a document under the primary model.
-- returns many DocumentVector
-- param doc_id TEXT  the document
-- param row_limit INTEGER  at most so many
-- column embedding BLOB  float32 little-endian, L2 = 1
SELECT v.embedding
FROM chunks AS c
JOIN vec_primary AS v ON v.chunk_rowid = c.chunk_rowid
WHERE c.doc_id = :doc_id
ORDER BY c.ordinal
LIMIT :row_limit;
