-- Record that a piece of long work begins, or begins again.
-- param job_id TEXT  the run
-- param kind TEXT  ingest, watch, embedding or evaluation
-- param payload_json TEXT  JSON object: what is to be done
-- param process_id INTEGER  of this process
-- param now TEXT  RFC 3339 UTC
INSERT INTO job_records (job_id, kind, payload_json, process_id, created_at, updated_at)
VALUES (:job_id, :kind, :payload_json, :process_id, :now, :now)
ON CONFLICT (job_id) DO UPDATE SET
  process_id = excluded.process_id,
  updated_at = excluded.updated_at,
  error_json = NULL,
  outcome = NULL,
  finished_at = NULL;
