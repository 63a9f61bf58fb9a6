-- Raise SQLITE_CORRUPT_VTAB when the lexical index contradicts itself.
-- version 1
INSERT INTO chunks_fts (chunks_fts) VALUES ('integrity-check');
