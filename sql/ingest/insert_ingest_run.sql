-- Record a finished or aborted ingest; again where it has embedded after all text was stored.
-- param run_id TEXT  the run
-- param scope_json TEXT  JSON root, include, exclude
-- param scanned INTEGER  files of a supported kind
-- param new_count INTEGER  documents added
-- param updated_count INTEGER  documents replaced
-- param skipped_count INTEGER  files and folders left out by a rule
-- param error_count INTEGER  files that could not be indexed
-- param duration_ms INTEGER  milliseconds
-- param started_at TEXT  RFC 3339 UTC
-- param finished_at TEXT  RFC 3339 UTC
-- param items_json TEXT?  JSON array of the files that changed or failed
-- param unchanged_count INTEGER  files as they were
-- param moved_count INTEGER  documents re-keyed to a new path
-- param removed_count INTEGER  documents whose file is gone
-- param aborted INTEGER  1 = stopped by the user
INSERT INTO ingest_runs (
  run_id, scope_json, scanned, new_count, updated_count, skipped_count, error_count, duration_ms, started_at,
  finished_at, items_json, unchanged_count, moved_count, removed_count, aborted
) VALUES (
  :run_id, :scope_json, :scanned, :new_count, :updated_count, :skipped_count, :error_count, :duration_ms,
  :started_at, :finished_at, :items_json, :unchanged_count, :moved_count, :removed_count, :aborted
)
ON CONFLICT (run_id) DO UPDATE SET
  duration_ms = excluded.duration_ms,
  finished_at = excluded.finished_at,
  aborted = excluded.aborted;
