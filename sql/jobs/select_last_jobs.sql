-- List the last run of each kind of long work, ingests by kb watch among all ingests, the newest first.
-- returns many kb.domain.results.inspection.Job
-- column job_id TEXT  the run
-- column kind TEXT  ingest, watch, embedding or evaluation
-- column status TEXT  pending, running, succeeded, failed or canceled
-- column payload_json TEXT  JSON object: what is to be done
-- column progress_json TEXT?  JSON object done, total, unit
-- column error_json TEXT?  JSON object code, message, hint
-- column created_at TEXT  RFC 3339 UTC
-- column updated_at TEXT  RFC 3339 UTC, its last sign of life
-- column finished_at TEXT?  RFC 3339 UTC
-- column process_id INTEGER?  of the process that did it
WITH ranked AS (
  SELECT
    job_id, kind, status, payload_json, progress_json, error_json, created_at, updated_at, finished_at,
    row_number() OVER (PARTITION BY iif(kind = 'watch', 'ingest', kind) ORDER BY created_at DESC, job_id) AS number
  FROM jobs
)
SELECT
  r.job_id, r.kind, r.status, r.payload_json, r.progress_json, r.error_json, r.created_at, r.updated_at, r.finished_at,
  j.process_id
FROM ranked AS r
LEFT JOIN job_records AS j USING (job_id)
WHERE r.number = 1
ORDER BY r.created_at DESC, r.job_id;
