-- List the files that earlier ingests could not read or left out.
-- returns many kb.domain.results.ingest.UnreadFile
-- column workspace_path TEXT  path below the workspace root
-- column source_path TEXT  absolute path on this machine; '' of what could not be looked at
-- column family TEXT?  the kind of file
-- column byte_len INTEGER  bytes
-- column mtime_ns INTEGER  modification time, nanoseconds; 0 = read it again
-- column reader TEXT  versions, engines and limits under which it was not read
-- column outcome TEXT  'failed'; 'left out' by a rule; 'waiting' for an engine
-- column code TEXT  of error.v1, or the rule
-- column message TEXT  why
-- column hint TEXT?  what to do
-- column since TEXT  RFC 3339 UTC, when it was first so
SELECT
  workspace_path, source_path, family, byte_len, mtime_ns, reader, outcome, code, message, hint, since
FROM unread_files
ORDER BY workspace_path;
