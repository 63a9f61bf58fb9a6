-- Store at which commit the history of a checkout was read.
-- param path TEXT  the checkout's folder on this machine
-- param commit_id TEXT  the commit; '' = it could not be read
-- param read_at_ns INTEGER  when, in nanoseconds since 1970
INSERT INTO commit_logs (path, commit_id, read_at_ns)
VALUES (:path, :commit_id, :read_at_ns)
ON CONFLICT (path) DO UPDATE SET commit_id = excluded.commit_id, read_at_ns = excluded.read_at_ns;
