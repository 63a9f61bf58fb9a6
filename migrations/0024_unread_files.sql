-- Files that could not be read, or that their reader left out: they are read again only when they or the reader change.

-- family: the kind of file; NULL: a folder or file that the walk could not look at. mtime_ns: 0 = read it again.
-- reader: versions, engines and limits under which it was not read. code: of error.v1, or the rule that left it out.
CREATE TABLE unread_files (
  workspace_path TEXT PRIMARY KEY,
  source_path TEXT NOT NULL,
  family TEXT,
  byte_len INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL,
  reader TEXT NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('failed', 'left out', 'waiting')),
  code TEXT NOT NULL,
  message TEXT NOT NULL,
  hint TEXT,
  since TEXT NOT NULL
) STRICT, WITHOUT ROWID;
