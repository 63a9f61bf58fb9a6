-- When the file of a document was last committed to git, and by whom; '' where git knows no commit of it, NULL until it was
-- asked.
ALTER TABLE documents ADD COLUMN committed_at TEXT;
ALTER TABLE documents ADD COLUMN committed_by TEXT;

-- The checkouts whose history was read for that: at which commit, '' where it could not be read, and when.
CREATE TABLE commit_logs (
  path TEXT PRIMARY KEY,
  commit_id TEXT NOT NULL,
  read_at_ns INTEGER NOT NULL
) STRICT;
