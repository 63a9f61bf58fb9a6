-- Remember that a file was touched but its bytes are the same.
-- returns changes
-- param workspace_path TEXT  path below the workspace root
-- param byte_len INTEGER  bytes
-- param mtime_ns INTEGER  modification time, nanoseconds
-- param source_path TEXT  absolute path on this machine
UPDATE documents SET byte_len = :byte_len, mtime_ns = :mtime_ns, source_path = :source_path
WHERE workspace_path = :workspace_path;
