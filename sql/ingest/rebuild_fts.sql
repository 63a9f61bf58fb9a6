-- Rebuild the lexical index from the chunks.
DELETE FROM chunks_fts;
INSERT INTO indexed_chunks (chunk_rowid) SELECT chunk_rowid FROM chunks WHERE symbol_text IS NULL ORDER BY chunk_rowid;
INSERT INTO chunks_fts (chunks_fts) VALUES ('optimize');
DELETE FROM code_fts;
INSERT INTO indexed_code (chunk_rowid) SELECT chunk_rowid FROM chunks WHERE symbol_text IS NOT NULL ORDER BY chunk_rowid;
INSERT INTO code_fts (code_fts) VALUES ('optimize');
