-- List the processes of ingests that have not ended and gave a sign of life in the last ten seconds.
-- returns many RunningIngest
-- column process_id INTEGER  of the process
SELECT process_id
FROM job_records
WHERE
  kind IN ('ingest', 'watch') AND outcome IS NULL AND updated_at >= strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-10 seconds')
ORDER BY process_id;
