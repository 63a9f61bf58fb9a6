-- List the vectors of the hidden documents' chunks.
-- version 1
-- tables vec_primary, vec_secondary  the mirror of a slot
-- column lang TEXT  language of the chunk
-- column embedding BLOB  float32 little-endian
SELECT v.lang, v.embedding
FROM temp.hidden_documents AS h
CROSS JOIN main.chunks AS c USING (doc_id)
CROSS JOIN vec_primary AS v ON v.chunk_rowid = c.chunk_rowid
ORDER BY c.chunk_rowid;
