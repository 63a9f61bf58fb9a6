-- Assets, documents, blocks, chunks, the lexical index and the record of ingest runs.
CREATE TABLE schema_meta (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;

CREATE TABLE migrations (
  id INTEGER PRIMARY KEY,
  applied_at TEXT NOT NULL,
  description TEXT NOT NULL
) STRICT;

-- Counters that grow with the index: corpus_revision, korean_unit_total.
CREATE TABLE kv (
  key TEXT PRIMARY KEY,
  value ANY NOT NULL
) STRICT;
INSERT INTO kv (key, value) VALUES ('corpus_revision', 0), ('korean_unit_total', 0);

-- One row a content; files with the same bytes share it (workspace_path names the first of them).
CREATE TABLE assets (
  asset_id TEXT PRIMARY KEY,
  source_uri TEXT NOT NULL,
  workspace_path TEXT NOT NULL,
  media_type TEXT NOT NULL,
  byte_len INTEGER NOT NULL,
  checksum TEXT NOT NULL,
  storage_kind TEXT NOT NULL CHECK (storage_kind IN ('copied', 'reference')),
  storage_path TEXT NOT NULL,
  discovered_at TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX idx_assets_workspace_path ON assets (workspace_path);
CREATE INDEX idx_assets_media_type ON assets (media_type);

CREATE TABLE documents (
  doc_id TEXT PRIMARY KEY,
  asset_id TEXT NOT NULL REFERENCES assets (asset_id) ON DELETE RESTRICT,
  workspace_path TEXT NOT NULL,
  title TEXT,
  lang TEXT,
  source_type TEXT NOT NULL CHECK (source_type IN ('markdown', 'note', 'paper', 'reference', 'inbox')),
  trust_level TEXT NOT NULL CHECK (trust_level IN ('primary', 'secondary', 'generated')),
  parser_version TEXT NOT NULL,
  doc_version INTEGER NOT NULL,
  schema_version INTEGER NOT NULL,
  metadata_json TEXT NOT NULL,
  provenance_json TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  -- What a scan compares before it reads a file again.
  source_path TEXT NOT NULL,
  byte_len INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL,
  pipeline_version TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX idx_docs_workspace_path ON documents (workspace_path);
CREATE INDEX idx_docs_asset_id ON documents (asset_id);
CREATE INDEX idx_docs_lang ON documents (lang);
CREATE INDEX idx_docs_source_type ON documents (source_type);

CREATE TABLE document_tags (
  doc_id TEXT NOT NULL REFERENCES documents (doc_id) ON DELETE CASCADE,
  tag TEXT NOT NULL,
  PRIMARY KEY (doc_id, tag)
) STRICT;
CREATE INDEX idx_document_tags_tag ON document_tags (tag);

CREATE TABLE blocks (
  block_id TEXT PRIMARY KEY,
  doc_id TEXT NOT NULL REFERENCES documents (doc_id) ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (
    kind IN ('heading', 'paragraph', 'list', 'code', 'table', 'quote', 'image_ref', 'audio_ref')
  ),
  heading_path_json TEXT NOT NULL,
  ordinal INTEGER NOT NULL,
  source_span_json TEXT NOT NULL,
  payload_json TEXT NOT NULL
) STRICT;
CREATE INDEX idx_blocks_doc_id ON blocks (doc_id);

-- chunk_rowid joins chunks to chunks_fts and to the vector tables; AUTOINCREMENT keeps a removed chunk's number from
-- naming another one.
CREATE TABLE chunks (
  chunk_rowid INTEGER PRIMARY KEY AUTOINCREMENT,
  chunk_id TEXT NOT NULL UNIQUE,
  doc_id TEXT NOT NULL REFERENCES documents (doc_id) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  text TEXT NOT NULL,
  heading_path_json TEXT NOT NULL,
  section_label TEXT,
  source_spans_json TEXT NOT NULL,
  token_estimate INTEGER NOT NULL,
  chunker_version TEXT NOT NULL,
  policy_hash TEXT NOT NULL,
  block_ids_json TEXT NOT NULL,
  created_at TEXT NOT NULL,
  lang TEXT NOT NULL,
  heading_text TEXT NOT NULL,
  tokenized_korean_text TEXT
) STRICT;
CREATE INDEX idx_chunks_doc_id ON chunks (doc_id, ordinal);
CREATE INDEX idx_chunks_chunker_version ON chunks (chunker_version);

CREATE VIRTUAL TABLE chunks_fts USING fts5 (
  chunk_id UNINDEXED,
  doc_id UNINDEXED,
  heading_path,
  text,
  tokenized_korean_text,
  tokenize = 'porter unicode61 remove_diacritics 2'
);

-- Which morphemes each written Korean unit stood for, counted per document: [[surface, "morpheme …", n], …].
CREATE TABLE document_korean_units (
  doc_id TEXT PRIMARY KEY REFERENCES documents (doc_id) ON DELETE CASCADE,
  units_json TEXT NOT NULL
) STRICT;
CREATE TABLE korean_units (
  surface TEXT NOT NULL,
  morphemes TEXT NOT NULL,
  occurrences INTEGER NOT NULL,
  PRIMARY KEY (surface, morphemes)
) STRICT, WITHOUT ROWID;

CREATE TABLE ingest_runs (
  run_id TEXT PRIMARY KEY,
  scope_json TEXT NOT NULL,
  scanned INTEGER NOT NULL,
  new_count INTEGER NOT NULL,
  updated_count INTEGER NOT NULL,
  skipped_count INTEGER NOT NULL,
  error_count INTEGER NOT NULL,
  duration_ms INTEGER NOT NULL,
  started_at TEXT NOT NULL,
  finished_at TEXT NOT NULL,
  items_json TEXT,
  unchanged_count INTEGER NOT NULL,
  moved_count INTEGER NOT NULL,
  removed_count INTEGER NOT NULL,
  aborted INTEGER NOT NULL CHECK (aborted IN (0, 1))
) STRICT;
CREATE INDEX idx_ingest_runs_finished_at ON ingest_runs (finished_at);
