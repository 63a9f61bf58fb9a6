-- Note the vectors of a chunk that goes: the vector stores are not SQLite's to clean, kb does it at its next write.
CREATE TRIGGER embedding_records_ad AFTER DELETE ON embedding_records BEGIN
  INSERT INTO vector_tombstones (lance_table, chunk_id, chunk_rowid)
  VALUES (old.lance_table, old.chunk_id, old.chunk_rowid)
  ON CONFLICT (lance_table, chunk_id) DO UPDATE SET chunk_rowid = excluded.chunk_rowid;
END;
CREATE TRIGGER embedding_records_ai AFTER INSERT ON embedding_records BEGIN
  DELETE FROM vector_tombstones WHERE lance_table = new.lance_table AND chunk_id = new.chunk_id;
END;
