-- Rebuild the lexical index from the chunks.
-- version 3
DELETE FROM chunks_fts;
INSERT INTO indexed_chunks (chunk_rowid) SELECT chunk_rowid FROM chunks ORDER BY chunk_rowid;
INSERT INTO chunks_fts (chunks_fts) VALUES ('optimize');
