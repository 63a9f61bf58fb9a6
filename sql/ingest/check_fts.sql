-- Raise SQLITE_CORRUPT_VTAB when the lexical index contradicts itself.
INSERT INTO chunks_fts (chunks_fts) VALUES ('integrity-check');
INSERT INTO code_fts (code_fts) VALUES ('integrity-check');
