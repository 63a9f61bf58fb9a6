-- List the checkouts whose history was read.
-- returns many CommitLog
-- column path TEXT  the checkout's folder on this machine
-- column commit_id TEXT  the commit it was read at; '' = it could not be read
-- column read_at_ns INTEGER  when, in nanoseconds since 1970
SELECT path, commit_id, read_at_ns FROM commit_logs ORDER BY path;
