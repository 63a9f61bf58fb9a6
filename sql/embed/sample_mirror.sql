-- Read vectors of the mirror, so many at random.
-- returns many MirrorVector
-- param row_limit INTEGER  at most so many
-- column chunk_rowid INTEGER  the chunk's number
-- column chunk_id TEXT  the chunk
-- column doc_id TEXT  its document
-- column lang TEXT  language of the chunk's text
-- column embedding BLOB  float32 little-endian, L2 = 1
SELECT v.chunk_rowid, c.chunk_id, c.doc_id, c.lang, v.embedding
FROM (SELECT r.rowid AS chunk_rowid FROM vec_primary_rowids AS r ORDER BY random() LIMIT :row_limit) AS s
CROSS JOIN vec_primary AS v ON v.chunk_rowid = s.chunk_rowid
JOIN chunks AS c ON c.chunk_rowid = v.chunk_rowid
ORDER BY v.chunk_rowid;
