-- Make the table of cached vectors, where it is not there.
CREATE TABLE IF NOT EXISTS vectors (
  text_hash BLOB NOT NULL,
  model TEXT NOT NULL,
  vector BLOB NOT NULL,
  token_count INTEGER NOT NULL,
  used_at INTEGER NOT NULL,
  PRIMARY KEY (text_hash, model)
) STRICT; -- with row numbers: in a table without, each vector would take a whole page
CREATE INDEX IF NOT EXISTS idx_vectors_used_at ON vectors (used_at);
