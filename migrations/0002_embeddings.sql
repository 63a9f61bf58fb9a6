-- Vectors: what is embedded with which model, what must be forgotten, and the mean of each language.

-- The models whose vectors the mirror tables vec_primary and vec_secondary hold.
CREATE TABLE embedding_slots (
  slot TEXT PRIMARY KEY CHECK (slot IN ('primary', 'secondary')),
  model_id TEXT NOT NULL,
  model_version TEXT NOT NULL,
  dimensions INTEGER NOT NULL,
  lance_table TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;

-- pending: written before the vector is in both stores; committed: in both.
CREATE TABLE embedding_records (
  embedding_id TEXT PRIMARY KEY,
  chunk_id TEXT NOT NULL REFERENCES chunks (chunk_id) ON DELETE CASCADE,
  model_id TEXT NOT NULL,
  model_version TEXT NOT NULL,
  dimensions INTEGER NOT NULL,
  lance_table TEXT NOT NULL,
  created_at TEXT NOT NULL,
  chunk_rowid INTEGER NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('pending', 'committed')),
  token_count INTEGER,
  UNIQUE (chunk_id, model_id, model_version, dimensions)
) STRICT;
CREATE INDEX idx_embed_chunk ON embedding_records (chunk_id);
CREATE INDEX idx_embed_model ON embedding_records (model_id, model_version, dimensions, status);

-- Vectors of chunks that are gone, still to be removed from the mirror and from Lance.
CREATE TABLE vector_tombstones (
  lance_table TEXT NOT NULL,
  chunk_id TEXT NOT NULL,
  chunk_rowid INTEGER NOT NULL,
  PRIMARY KEY (lance_table, chunk_id)
) STRICT, WITHOUT ROWID;

-- The mean vector of each language under each model: data of the correction across languages.
CREATE TABLE language_means (
  slot TEXT NOT NULL REFERENCES embedding_slots (slot) ON DELETE CASCADE,
  lang TEXT NOT NULL,
  chunks INTEGER NOT NULL,
  mean BLOB NOT NULL,
  norm REAL NOT NULL,
  version TEXT NOT NULL,
  origin TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (slot, lang)
) STRICT;

-- The words a large index counts in advance: counting them while a question waits would take longer than finding.
CREATE VIRTUAL TABLE chunks_vocab USING fts5vocab (chunks_fts, row);
CREATE TABLE common_terms (
  term TEXT PRIMARY KEY,
  chunks INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Kept by triggers, because counting a million rows takes longer than finding ten of them.
INSERT INTO kv (key, value) SELECT 'chunk_total', count(*) FROM chunks;
-- What chunk_total was when common_terms was filled.
INSERT INTO kv (key, value) VALUES ('common_terms_chunks', 0);
