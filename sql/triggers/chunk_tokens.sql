-- Forget the tokens of a chunk that goes, and those of a vector that goes: both are of one model and one forward pass.
CREATE TRIGGER chunk_tokens_ad AFTER DELETE ON chunks BEGIN
  DELETE FROM chunk_tokens WHERE chunk_rowid = old.chunk_rowid;
END;
CREATE TRIGGER embedding_tokens_ad AFTER DELETE ON embedding_records BEGIN
  DELETE FROM chunk_tokens WHERE chunk_rowid = old.chunk_rowid AND model_id = old.model_id;
END;
