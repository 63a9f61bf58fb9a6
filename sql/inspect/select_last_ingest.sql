-- Read what the last ingest did; no row before the first.
-- returns one kb.domain.results.inspection.LastIngest
-- column finished_at TEXT  RFC 3339 UTC
-- column aborted INTEGER  1 = it was stopped
-- column new_count INTEGER  files
-- column updated_count INTEGER  files
-- column moved_count INTEGER  files
-- column removed_count INTEGER  files
-- column error_count INTEGER  files that were not read
-- column items_json TEXT?  JSON array of files that changed or that there is something to say about
SELECT
  finished_at, aborted, new_count, updated_count, moved_count, removed_count, error_count, items_json
FROM ingest_runs
ORDER BY finished_at DESC, run_id
LIMIT 1;
