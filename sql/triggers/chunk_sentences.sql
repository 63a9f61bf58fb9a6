-- Forget the sentences of a chunk that goes.
-- version 1
CREATE TRIGGER chunk_sentences_ad AFTER DELETE ON chunks BEGIN
  DELETE FROM chunk_sentences WHERE chunk_rowid = old.chunk_rowid;
END;
