-- Rebuild the lexical index from the chunks.
-- version 2
DELETE FROM chunks_fts;
INSERT INTO chunks_fts (rowid, chunk_id, doc_id, heading_path, text, tokenized_korean_text, name)
SELECT
  chunk_rowid, chunk_id, doc_id, heading_text, coalesce(nfc_text, text), tokenized_korean_text, name_text
FROM chunks
ORDER BY chunk_rowid;
INSERT INTO chunks_fts (chunks_fts) VALUES ('optimize');
