-- Keep chunks_fts equal to chunks, with SQLite built-ins only: any program may write. Text is indexed in NFC: nfc_text
-- where there is one, which whoever changes such a text changes with it.
-- version 2
CREATE TRIGGER chunks_ai AFTER INSERT ON chunks BEGIN
  INSERT INTO chunks_fts (rowid, chunk_id, doc_id, heading_path, text, tokenized_korean_text, name)
  VALUES (
    new.chunk_rowid, new.chunk_id, new.doc_id, new.heading_text, coalesce(new.nfc_text, new.text),
    new.tokenized_korean_text, new.name_text
  );
  UPDATE kv SET value = value + 1 WHERE key = 'chunk_total';
END;
CREATE TRIGGER chunks_ad AFTER DELETE ON chunks BEGIN
  DELETE FROM chunks_fts WHERE rowid = old.chunk_rowid;
  UPDATE kv SET value = value - 1 WHERE key = 'chunk_total';
END;
CREATE TRIGGER chunks_au AFTER UPDATE ON chunks BEGIN
  DELETE FROM chunks_fts WHERE rowid = old.chunk_rowid;
  INSERT INTO chunks_fts (rowid, chunk_id, doc_id, heading_path, text, tokenized_korean_text, name)
  VALUES (
    new.chunk_rowid, new.chunk_id, new.doc_id, new.heading_text, coalesce(new.nfc_text, new.text),
    new.tokenized_korean_text, new.name_text
  );
END;
