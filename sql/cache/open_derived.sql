-- Make the cache of what engines derived ready: losing it costs time, never data.
-- version 1
PRAGMA auto_vacuum = INCREMENTAL; -- before anything is written, or it takes no effect
PRAGMA journal_mode = WAL;
PRAGMA synchronous = OFF;
CREATE TABLE IF NOT EXISTS derived (
  content_hash TEXT NOT NULL,
  name TEXT NOT NULL,
  engine TEXT NOT NULL,
  data BLOB NOT NULL,
  used_at INTEGER NOT NULL,
  PRIMARY KEY (content_hash, name, engine)
) STRICT;
CREATE INDEX IF NOT EXISTS idx_derived_used_at ON derived (used_at);
