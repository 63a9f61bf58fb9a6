-- Keep chunks_fts equal to indexed_chunks, with SQLite built-ins only: any program may write.
-- version 3
CREATE TRIGGER index_chunk INSTEAD OF INSERT ON indexed_chunks BEGIN
  INSERT INTO chunks_fts (rowid, chunk_id, doc_id, heading_path, text, tokenized_korean_text, name)
  SELECT chunk_rowid, chunk_id, doc_id, heading_path, text, tokenized_korean_text, name
  FROM indexed_chunks
  WHERE chunk_rowid = new.chunk_rowid;
END;
CREATE TRIGGER chunks_ai AFTER INSERT ON chunks BEGIN
  INSERT INTO indexed_chunks (chunk_rowid) VALUES (new.chunk_rowid);
  UPDATE kv SET value = value + 1 WHERE key = 'chunk_total';
END;
CREATE TRIGGER chunks_ad AFTER DELETE ON chunks BEGIN
  DELETE FROM chunks_fts WHERE rowid = old.chunk_rowid;
  UPDATE kv SET value = value - 1 WHERE key = 'chunk_total';
END;
CREATE TRIGGER chunks_au AFTER UPDATE ON chunks BEGIN
  DELETE FROM chunks_fts WHERE rowid = old.chunk_rowid;
  INSERT INTO indexed_chunks (chunk_rowid) VALUES (new.chunk_rowid);
END;
