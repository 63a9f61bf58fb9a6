-- Delete the records of long work that gave its last sign of life too long ago, and all but the newest of the others and of
-- the ingest runs.
-- param now TEXT  RFC 3339 UTC
-- param days INTEGER  the age from which a record goes
-- param most INTEGER  how many stay
DELETE FROM job_records
WHERE updated_at < strftime('%Y-%m-%dT%H:%M:%fZ', :now, format('-%d days', :days))
  OR job_id NOT IN (SELECT j.job_id FROM job_records AS j ORDER BY j.updated_at DESC, j.job_id LIMIT :most);

DELETE FROM ingest_runs
WHERE run_id NOT IN (SELECT r.run_id FROM ingest_runs AS r ORDER BY r.finished_at DESC, r.run_id LIMIT :most);
