-- Read the paths that a run which did not end was to forget.
-- returns one Unfinished
-- column paths_json TEXT  JSON array of paths below the workspace root
SELECT value AS paths_json
FROM schema_meta
WHERE key = 'forgetting';
