-- List each file's state at the last ingests, to decide which files must be read again.
-- returns each KnownFile
-- column workspace_path TEXT  path below the workspace root
-- column byte_len INTEGER  bytes when last read
-- column mtime_ns INTEGER  modification time when last read, nanoseconds; 0 = read it again
-- column pipeline_version TEXT  parser, chunker, policy and morpheme versions the document was made with
-- column source_path TEXT  absolute path on this machine
SELECT workspace_path, byte_len, mtime_ns, pipeline_version, source_path FROM documents ORDER BY workspace_path;
