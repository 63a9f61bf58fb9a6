-- Make the table of what engines derived, where it is not there.
CREATE TABLE IF NOT EXISTS derived (
  content_hash TEXT NOT NULL,
  name TEXT NOT NULL,
  engine TEXT NOT NULL,
  data BLOB NOT NULL,
  used_at INTEGER NOT NULL,
  PRIMARY KEY (content_hash, name, engine)
) STRICT;
CREATE INDEX IF NOT EXISTS idx_derived_used_at ON derived (used_at);
