-- Count the files that are not read, by kind and reason, the most first.
-- returns many kb.domain.results.inspection.UnreadGroup
-- column family TEXT?  the kind of file; NULL = not looked at
-- column outcome TEXT  'failed'; 'left out' by a rule; 'waiting' for an engine
-- column code TEXT  of error.v1, or the rule
-- column files INTEGER  files
-- column message TEXT?  why, where it is the same for all
-- column hint TEXT?  what to do, where it is the same for all
-- column since TEXT  RFC 3339 UTC, when the first was noted
-- column paths_json TEXT  JSON array of the first paths
-- param most_paths INTEGER  how many paths
WITH ranked AS (
  SELECT
    family, outcome, code, workspace_path, message, hint, since,
    row_number() OVER (PARTITION BY family, outcome, code ORDER BY workspace_path) AS number
  FROM unread_files
)
SELECT
  family,
  outcome,
  code,
  count(*) AS files,
  iif(count(DISTINCT message) = 1, min(message), NULL) AS message,
  iif(count(DISTINCT hint) = 1, min(hint), NULL) AS hint,
  min(since) AS since,
  json_group_array(workspace_path) FILTER (WHERE number <= :most_paths) AS paths_json
FROM ranked
GROUP BY family, outcome, code
ORDER BY count(*) DESC, family, outcome, code;
