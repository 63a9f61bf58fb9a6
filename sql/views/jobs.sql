-- One row per run of long work: ingests (kind watch: those that kb watch began), embedding, evaluations.
--
-- What runs gives a sign of life every three seconds. Without one for ten seconds a run that has not ended has failed: its
-- process was killed, or the machine went down. Runs from before there were records are told from their own tables.
CREATE VIEW jobs AS
WITH recorded AS (
  SELECT
    job_id, kind, payload_json, progress_json, error_json, created_at, updated_at, finished_at,
    CASE
      WHEN outcome IS NOT NULL THEN outcome
      WHEN updated_at >= strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-10 seconds') THEN 'running'
      ELSE 'failed'
    END AS status
  FROM job_records
)
SELECT
  job_id,
  kind,
  status,
  payload_json,
  progress_json,
  iif(
    status = 'failed' AND error_json IS NULL,
    '{"code":"interrupted","message":"its process ended before the work did","hint":"run it again: it goes on from there"}',
    error_json
  ) AS error_json,
  created_at,
  updated_at,
  finished_at
FROM recorded
UNION ALL
SELECT
  run_id,
  'ingest',
  iif(aborted, 'canceled', 'succeeded'),
  scope_json,
  json_object('done', scanned, 'total', scanned, 'unit', 'files'),
  NULL,
  started_at,
  finished_at,
  finished_at
FROM ingest_runs
WHERE run_id NOT IN (SELECT job_id FROM job_records)
UNION ALL
SELECT
  run_id,
  'evaluation',
  iif(finished_at IS NULL, 'canceled', 'succeeded'),
  json_object('suite', suite, 'name', name, 'mode', mode, 'k', k),
  json_object('done', (SELECT count(*) FROM eval_query_results AS q WHERE q.run_id = r.run_id), 'total', questions,
    'unit', 'questions'),
  NULL,
  created_at,
  coalesce(finished_at, created_at),
  finished_at
FROM eval_runs AS r
WHERE run_id NOT IN (SELECT job_id FROM job_records);
