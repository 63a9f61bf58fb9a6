-- Read vectors of the mirror, the next ones in the order of their numbers.
-- returns many MirrorVector
-- param after_rowid INTEGER  only numbers above; 0 = from the start
-- param row_limit INTEGER  at most so many
-- column chunk_rowid INTEGER  the chunk's number
-- column chunk_id TEXT  the chunk
-- column doc_id TEXT  its document
-- column lang TEXT  language of the chunk's text
-- column embedding BLOB  float32 little-endian, L2 = 1
SELECT v.chunk_rowid, c.chunk_id, c.doc_id, c.lang, v.embedding
FROM chunks AS c
JOIN vec_primary AS v ON v.chunk_rowid = c.chunk_rowid
WHERE c.chunk_rowid > :after_rowid
ORDER BY c.chunk_rowid
LIMIT :row_limit;
