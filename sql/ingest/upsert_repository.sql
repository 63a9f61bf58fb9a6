-- Store the commit and branch of a repository.
-- param path TEXT  the checkout's folder on this machine
-- param name TEXT  what it is called
-- param branch TEXT?  the branch that is checked out; NULL = none
-- param commit_id TEXT?  its commit in hex; NULL = none yet, or unknown
-- param read_at TEXT  RFC 3339
INSERT INTO repositories (path, name, branch, commit_id, read_at)
VALUES (:path, :name, :branch, :commit_id, :read_at)
ON CONFLICT (path) DO UPDATE SET
  name = excluded.name,
  branch = excluded.branch,
  commit_id = excluded.commit_id,
  read_at = excluded.read_at;
