-- Keep chunks_fts equal to indexed_chunks, and code_fts to indexed_code, with SQLite built-ins only: any program may write.
CREATE TRIGGER index_chunk INSTEAD OF INSERT ON indexed_chunks BEGIN
  INSERT INTO chunks_fts (rowid, chunk_id, doc_id, heading_path, text, tokenized_korean_text, name)
  SELECT chunk_rowid, chunk_id, doc_id, heading_path, text, tokenized_korean_text, name
  FROM indexed_chunks
  WHERE chunk_rowid = new.chunk_rowid;
END;
CREATE TRIGGER index_code INSTEAD OF INSERT ON indexed_code BEGIN
  INSERT INTO code_fts (rowid, symbol, path, doc, text, identifiers, tokenized_korean_text)
  SELECT chunk_rowid, symbol, path, doc, text, identifiers, tokenized_korean_text
  FROM indexed_code
  WHERE chunk_rowid = new.chunk_rowid;
END;
CREATE TRIGGER chunks_ai AFTER INSERT ON chunks WHEN new.symbol_text IS NULL BEGIN
  INSERT INTO indexed_chunks (chunk_rowid) VALUES (new.chunk_rowid);
  UPDATE kv SET value = value + 1 WHERE key = 'chunk_total';
END;
CREATE TRIGGER chunks_ad AFTER DELETE ON chunks WHEN old.symbol_text IS NULL BEGIN
  DELETE FROM chunks_fts WHERE rowid = old.chunk_rowid;
  UPDATE kv SET value = value - 1 WHERE key = 'chunk_total';
END;
CREATE TRIGGER chunks_au AFTER UPDATE ON chunks WHEN new.symbol_text IS NULL BEGIN
  DELETE FROM chunks_fts WHERE rowid = old.chunk_rowid;
  INSERT INTO indexed_chunks (chunk_rowid) VALUES (new.chunk_rowid);
END;
CREATE TRIGGER code_ai AFTER INSERT ON chunks WHEN new.symbol_text IS NOT NULL BEGIN
  INSERT INTO indexed_code (chunk_rowid) VALUES (new.chunk_rowid);
  UPDATE kv SET value = value + 1 WHERE key = 'code_total';
END;
CREATE TRIGGER code_ad AFTER DELETE ON chunks WHEN old.symbol_text IS NOT NULL BEGIN
  DELETE FROM code_fts WHERE rowid = old.chunk_rowid;
  UPDATE kv SET value = value - 1 WHERE key = 'code_total';
END;
CREATE TRIGGER code_au AFTER UPDATE ON chunks WHEN new.symbol_text IS NOT NULL BEGIN
  DELETE FROM code_fts WHERE rowid = old.chunk_rowid;
  INSERT INTO indexed_code (chunk_rowid) VALUES (new.chunk_rowid);
END;
