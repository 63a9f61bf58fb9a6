-- The git repositories that source files are of, as the last ingest read them from their .git.

-- path: the checkout's folder on this machine. branch NULL: none is checked out; commit_id NULL: none yet, or unknown;
-- is_dirty 1 where a tracked file was changed since, NULL where that cannot be told.
CREATE TABLE repositories (
  path TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  branch TEXT,
  commit_id TEXT,
  is_dirty INTEGER CHECK (is_dirty IN (0, 1)),
  read_at TEXT NOT NULL
) STRICT;
CREATE INDEX idx_repositories_name ON repositories (name COLLATE NOCASE);
ALTER TABLE documents ADD COLUMN repository_path TEXT REFERENCES repositories (path) ON DELETE SET NULL;
CREATE INDEX idx_documents_repository ON documents (repository_path) WHERE repository_path IS NOT NULL;

-- Passages of notes, which have vectors, apart from source code, which has none.
CREATE INDEX idx_chunks_of_notes ON chunks (chunk_rowid) WHERE symbol_text IS NULL;
