-- Record how far a piece of long work is, or how it ended.
-- param job_id TEXT  the run
-- param progress_json TEXT?  JSON object done, total, unit; NULL = as before
-- param error_json TEXT?  JSON object code, message, hint
-- param outcome TEXT?  succeeded, failed or canceled; NULL = it goes on
-- param now TEXT  RFC 3339 UTC
UPDATE job_records
SET
  progress_json = coalesce(:progress_json, progress_json),
  error_json = :error_json,
  outcome = :outcome,
  updated_at = :now,
  finished_at = iif(:outcome IS NULL, NULL, :now)
WHERE job_id = :job_id;
